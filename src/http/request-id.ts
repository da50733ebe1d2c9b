import { randomFillSync } from 'node:crypto';

const ID_BYTES = 8;
/** Asking for random bytes costs more than the bytes do, so many ids' worth come at once. */
const POOL = Buffer.alloc(512 * ID_BYTES);
let used = POOL.length;

/** 16 random hexadecimal characters, by which all log lines of a request can be found. */
export function newRequestId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += ID_BYTES;
  return POOL.toString('hex', used - ID_BYTES, used);
}
