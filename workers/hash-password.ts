import { type Algorithm, hashSync } from '@node-rs/argon2';

const ARGON2ID: Algorithm.Argon2id = 2;

/** What a password costs to hash: the least that OWASP's Password Storage Cheat Sheet recommends. */
export const COST = { algorithm: ARGON2ID, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const;

/** The stored form of a password: argon2id with a fresh salt, as a PHC string. About 9 ms. */
export default function hashPassword(password: string): string {
  return hashSync(password, COST);
}
