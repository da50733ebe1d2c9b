import { scryptSync, timingSafeEqual } from 'node:crypto';
import { parseOptions, verifySync } from '@node-rs/argon2';
import type { PasswordClaim } from '../src/access/passwords.ts';

const MAX_MEMORY_KIB = 256 * 1024;
const MAX_PASSES = 10;

/**
 * Whether a password matches. A malformed hash matches none. A hash with too high a cost matches none either, because
 * one that was stored by hand could demand any memory and time.
 */
export default function verifyPassword({ passwordHash, password }: PasswordClaim): boolean {
  if (passwordHash.startsWith('scrypt$')) return verifyScrypt(passwordHash, password);
  return isAffordable(passwordHash) && verifySync(passwordHash, password);
}

function isAffordable(passwordHash: string): boolean {
  try {
    const { memoryCost, timeCost } = parseOptions(passwordHash);
    return memoryCost <= MAX_MEMORY_KIB && timeCost <= MAX_PASSES;
  } catch {
    return false;
  }
}

/** A hash of scrypt (RFC 7914): `scrypt$N$r$p$salt$hash`, bytes in base64. */
interface ScryptHash {
  readonly N: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const SCRYPT_HASH =
  /^scrypt\$(\d{1,7})\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9+/]{10,88}={0,2})\$([A-Za-z0-9+/]{20,172}={0,2})$/;
/** Largest N * r * p: about a second, and 256 MiB if p is 1. */
const MAX_SCRYPT_COST = 2 ** 21;
/** Memory limit for OpenSSL, bytes: 128 for each N * r, and some more. */
const MAX_SCRYPT_BYTES = 128 * MAX_SCRYPT_COST + 2 ** 20;

/** Whether a password matches; never if the hash is malformed or too expensive. */
function verifyScrypt(passwordHash: string, password: string): boolean {
  const form = parseHash(passwordHash);
  if (form === undefined) return false;
  const { N, r, p, salt, hash } = form;
  return timingSafeEqual(
    scryptSync(password, salt, hash.length, { N, r, p, maxmem: MAX_SCRYPT_BYTES }),
    hash,
  );
}

function parseHash(passwordHash: string): ScryptHash | undefined {
  const [, n, r, p, salt, hash] = SCRYPT_HASH.exec(passwordHash) ?? [];
  if (salt === undefined || hash === undefined) return undefined;
  const form = {
    N: Number(n),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
  return isAffordableScrypt(form) && isWithin(form.salt, 8, 64) && isWithin(form.hash, 16, 128)
    ? form
    : undefined;
}

/** Checks the cost, and the ranges that scrypt defines (RFC 7914, section 2). */
function isAffordableScrypt({ N, r, p }: ScryptHash): boolean {
  const bits = Math.log2(N);
  return N > 1 && Number.isInteger(bits) && bits < 16 * r && p > 0 && N * r * p <= MAX_SCRYPT_COST;
}

function isWithin({ length }: Buffer, least: number, most: number): boolean {
  return length >= least && length <= most;
}
