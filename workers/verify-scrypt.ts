import { scryptSync, timingSafeEqual } from 'node:crypto';

/** What is stored of a password that was hashed with scrypt (RFC 7914): `scrypt$N$r$p$salt$hash`, bytes in base64. */
interface ScryptForm {
  readonly N: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const FORM =
  /^scrypt\$(\d{1,7})\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9+/]{10,88}={0,2})\$([A-Za-z0-9+/]{20,172}={0,2})$/;
/** The most N * r * p that a stored form may ask for: about a second, and 256 MiB if p is 1. */
const MAX_COST = 2 ** 21;
/** What OpenSSL may take, in bytes: 128 for each N * r, and some more. */
const MAX_MEMORY = 128 * MAX_COST + 2 ** 20;

/** Whether a password is the one of an scrypt form; never for a form that is malformed or too expensive. */
export function verifyScrypt(passwordHash: string, password: string): boolean {
  const form = parseForm(passwordHash);
  if (form === undefined) return false;
  const { N, r, p, salt, hash } = form;
  return timingSafeEqual(scryptSync(password, salt, hash.length, { N, r, p, maxmem: MAX_MEMORY }), hash);
}

function parseForm(passwordHash: string): ScryptForm | undefined {
  const [, n, r, p, salt, hash] = FORM.exec(passwordHash) ?? [];
  if (salt === undefined || hash === undefined) return undefined;
  const form = {
    N: Number(n),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
  return isAffordable(form) && isWithin(form.salt, 8, 64) && isWithin(form.hash, 16, 128) ? form : undefined;
}

/** Also whether they are what scrypt is defined for (RFC 7914, section 2). */
function isAffordable({ N, r, p }: ScryptForm): boolean {
  const bits = Math.log2(N);
  return N > 1 && Number.isInteger(bits) && bits < 16 * r && p > 0 && N * r * p <= MAX_COST;
}

function isWithin({ length }: Buffer, least: number, most: number): boolean {
  return length >= least && length <= most;
}
