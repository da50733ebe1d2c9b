import { parseOptions, verifySync } from '@node-rs/argon2';
import { verifyScrypt } from './verify-scrypt.ts';

/** A password and what it may be the password of. */
export interface PasswordClaim {
  /** The stored form: an argon2 PHC string, or that of scrypt (see `verify-scrypt.ts`); may be malformed. */
  readonly passwordHash: string;
  readonly password: string;
}

/** The most memory that a stored form may ask for, in KiB. */
const MAX_MEMORY_KIB = 256 * 1024;
/** The most passes over it. */
const MAX_PASSES = 10;

/**
 * Whether a password is the right one. Nothing matches a stored form that is malformed, or so expensive (one
 * put there by hand may ask for any cost) that a few requests would take all memory or hold the threads for
 * minutes.
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
