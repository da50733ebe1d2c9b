/**
 * Copies bytes into an array, which may be shared memory or the same buffer. `set` is slow on shared memory with another
 * alignment than the source: 55 to 95 µs for 200 KB instead of 5 to 9. `Buffer.copy` is fast, but calls `set` for a whole
 * array, so the first byte is copied alone.
 */
export function copyBytes(from: Uint8Array, to: Uint8Array, at: number): void {
  if (from.length === 0) return;
  const first = from[0]!;
  Buffer.from(from.buffer, from.byteOffset, from.length).copy(to, at + 1, 1);
  to[at] = first;
}
