/**
 * Copies bytes to a place in an array, which may be shared memory and the same buffer. `set` moves them word by word
 * where shared memory is not aligned as the source is: 55 to 95 µs for 200 KB, instead of 5 to 9. Node's own copy is as
 * fast as it should be, but for a whole array it is `set`, so the first byte goes alone.
 */
export function copyBytes(from: Uint8Array, to: Uint8Array, at: number): void {
  if (from.length === 0) return;
  const first = from[0]!;
  Buffer.from(from.buffer, from.byteOffset, from.length).copy(to, at + 1, 1);
  to[at] = first;
}
