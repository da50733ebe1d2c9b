/** The smallest buffer; sizes double from here. */
const SMALLEST = 4 * 1024;

/**
 * Reuses buffers, because a fresh 200 KB buffer per body costs four times the CPU, in page faults. They are shared
 * memory, so a worker reads them without a copy or a transfer.
 *
 * V8 does not count shared memory, so it collects dropped buffers late, and a worker that has seen one holds it too: with
 * room for one form of 50 MB, each round of 20 such forms leaked 100 MB. So keep room for all buffers in use at once.
 */
export class BufferPool {
  /** By size class, least recently requested first. */
  readonly #free = new Map<number, SharedArrayBuffer[]>();
  readonly #keep: number;
  #kept = 0;
  #used = 0;

  /** @param keep limit of free buffers, bytes; free buffers are dropped to keep free and used ones below it too */
  constructor(keep: number) {
    this.#keep = keep;
  }

  /** A buffer of at least `size` bytes with undefined content. */
  take(size: number): SharedArrayBuffer {
    const capacity = sizeClass(size);
    const free = this.#free.get(capacity) ?? [];
    this.#free.delete(capacity);
    this.#free.set(capacity, free);
    const buffer = free.pop();
    if (buffer !== undefined) this.#kept -= capacity;
    else if (capacity <= this.#keep) this.#makeRoom(capacity, this.#used + capacity);
    this.#used += capacity;
    return buffer ?? new SharedArrayBuffer(capacity);
  }

  /** Takes back a buffer that nobody reads any more. */
  give(buffer: SharedArrayBuffer): void {
    const capacity = buffer.byteLength;
    this.#used -= capacity;
    if (capacity > this.#keep) return;
    this.#makeRoom(capacity, capacity);
    if (this.#kept + capacity > this.#keep) return;
    this.#kept += capacity;
    this.#free.get(capacity)!.push(buffer);
  }

  /** Drops free buffers of size classes requested less recently than `capacity` until `bytes` more fit. */
  #makeRoom(capacity: number, bytes: number): void {
    for (const [size, free] of this.#free) {
      if (size === capacity) return;
      while (free.length > 0 && this.#kept + bytes > this.#keep) {
        free.pop();
        this.#kept -= size;
      }
    }
  }
}

/** Powers of two and the steps halfway between them, so that at most a third of a buffer is unused. */
function sizeClass(size: number): number {
  let capacity = SMALLEST;
  while (capacity < size) capacity *= 2;
  const between = (capacity / 4) * 3;
  return capacity > SMALLEST && between >= size ? between : capacity;
}

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
