/** The smallest buffer; sizes double from here. */
const SMALLEST = 4 * 1024;

/**
 * Buffers that are used again: a fresh 200 KB buffer for each body costs four times the CPU of a reused one,
 * in page faults. They are shared memory, so a worker reads them without a copy or a transfer.
 *
 * V8 does not count shared memory, so nothing makes it collect a buffer that was dropped, and a worker that has seen
 * one holds it too: with room for one form of 50 MB, each round of 20 such forms left 100 MB more behind. So there
 * should be room for all that are in use at once.
 */
export class BufferPool {
  /** By size, the size that was not asked for the longest first. */
  readonly #free = new Map<number, SharedArrayBuffer[]>();
  readonly #keep: number;
  #kept = 0;
  #used = 0;

  /** @param keep how many bytes of free buffers are kept at most, and of free and used ones where free ones can go */
  constructor(keep: number) {
    this.#keep = keep;
  }

  /** A buffer of at least `size` bytes. Its content is undefined. */
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

  /** Gives back a buffer that nobody reads any more. */
  give(buffer: SharedArrayBuffer): void {
    const capacity = buffer.byteLength;
    this.#used -= capacity;
    if (capacity > this.#keep) return;
    this.#makeRoom(capacity, capacity);
    if (this.#kept + capacity > this.#keep) return;
    this.#kept += capacity;
    this.#free.get(capacity)!.push(buffer);
  }

  /**
   * Where there is no room for `bytes` beside the buffers that are kept, those of sizes asked for less lately than
   * `capacity` give way.
   */
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

/** Powers of two, and the steps halfway between them, so that at most a third of a buffer is idle. */
function sizeClass(size: number): number {
  let capacity = SMALLEST;
  while (capacity < size) capacity *= 2;
  const between = (capacity / 4) * 3;
  return capacity > SMALLEST && between >= size ? between : capacity;
}
