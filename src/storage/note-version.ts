import { createHash } from 'node:crypto';

/** A fingerprint of a note's state: 48 bits of a hash of its parts. */
export function noteVersion(...parts: readonly (string | number | null | undefined)[]): number {
  return createHash('sha1').update(parts.join('\n')).digest().readUIntBE(0, 6);
}
