import { createHash } from 'node:crypto';

/** What tells a state of a note from all others: 48 bits that follow from its parts. */
export function noteVersion(...parts: readonly (string | number | null | undefined)[]): number {
  return createHash('sha1').update(parts.join('\n')).digest().readUIntBE(0, 6);
}
