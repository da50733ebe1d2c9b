/** The smallest buffer; sizes double from here. */
const SMALLEST = 4 * 1024;

/**
 * Buffers that are used again: a fresh 200 KB buffer for each body costs four times the CPU of a reused one,
 * in page faults. They are shared memory, so a worker reads them without a copy or a transfer.
 */
export class BufferPool {
  /** By size, the size that was not asked for the longest first. */
  readonly #free = new Map<number, SharedArrayBuffer[]>();
  readonly #keep: number;
  #kept = 0;

  /** @param keep how many bytes of free buffers are kept at most */
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
    if (buffer === undefined) return new SharedArrayBuffer(capacity);
    this.#kept -= capacity;
    return buffer;
  }

  /** Gives back a buffer that nobody reads any more. */
  give(buffer: SharedArrayBuffer): void {
    const capacity = buffer.byteLength;
    if (capacity > this.#keep) return;
    this.#makeRoom(capacity);
    if (this.#kept + capacity > this.#keep) return;
    this.#kept += capacity;
    this.#free.get(capacity)!.push(buffer);
  }

  /** Where there is no room for a buffer, those of sizes asked for less lately than its own give way. */
  #makeRoom(capacity: number): void {
    for (const [size, free] of this.#free) {
      if (size === capacity || this.#kept + capacity <= this.#keep) return;
      this.#kept -= size * free.length;
      free.length = 0;
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
