import { type Algorithm, hashSync } from '@node-rs/argon2';

const ARGON2ID: Algorithm.Argon2id = 2;

/** The minimum of OWASP's Password Storage Cheat Sheet. */
const COST = { algorithm: ARGON2ID, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const;

/** Hashes a password with argon2id and a random salt, as a PHC string. About 9 ms. */
export default function hashPassword(password: string): string {
  return hashSync(password, COST);
}
