import { Refusal } from '../refusals.ts';

/** A client that has not taken all of an answer yet. */
export interface SlowReader {
  readonly client: string;
  /** Ends the answer soon. */
  giveWay(reason: Refusal): void;
}

/** What one client holds. Of an answer that several clients read, each holds its share. */
interface Holding {
  bytes: number;
  /** Those that it has held for longest are first. */
  readonly parts: Part[];
}

interface Part {
  readonly memory: ArrayBufferLike;
  bytes: number;
  readonly readers: SlowReader[];
}

/** Bounds the memory of answers whose clients are slow to take them. An answer that several clients read counts once. */
export class AnswerMemory {
  readonly #total: number;
  /** By what holds the bytes; those that came first are first. */
  readonly #readers = new Map<ArrayBufferLike, Set<SlowReader>>();
  #used = 0;

  /** @param total bytes */
  constructor(total: number) {
    this.#total = total;
  }

  /** If there is too much, the client that holds most loses what it has held for longest. */
  hold(memory: ArrayBufferLike, reader: SlowReader): void {
    const readers = this.#readers.get(memory);
    if (readers) readers.add(reader);
    else {
      this.#readers.set(memory, new Set([reader]));
      this.#used += memory.byteLength;
    }
    if (this.#used > this.#total) this.#makeRoom();
  }

  /** May be called more than once. */
  release(memory: ArrayBufferLike, reader: SlowReader): void {
    const readers = this.#readers.get(memory);
    if (!readers?.delete(reader) || readers.size > 0) return;
    this.#readers.delete(memory);
    this.#used -= memory.byteLength;
  }

  /** All readers are looked at once, because there may be thousands. */
  #makeRoom(): void {
    const holdings = this.#holdings();
    const reason = new Refusal('busy', 'Too many answers wait for slow clients.');
    while (this.#used > this.#total) {
      let largest = holdings[0]!;
      for (const one of holdings) if (one.bytes > largest.bytes) largest = one;
      const { memory, bytes, readers } = largest.parts.shift()!;
      largest.bytes = largest.parts.length > 0 ? largest.bytes - bytes : 0;
      for (const reader of readers) {
        this.release(memory, reader);
        reader.giveWay(reason);
      }
    }
  }

  #holdings(): Holding[] {
    const holdings = new Map<string, Holding>();
    for (const [memory, readers] of this.#readers) {
      const share = memory.byteLength / readers.size;
      for (const reader of readers) {
        const holding = holdings.get(reader.client) ?? { bytes: 0, parts: [] };
        holdings.set(reader.client, holding);
        holding.bytes += share;
        const last = holding.parts.at(-1);
        if (last?.memory !== memory) holding.parts.push({ memory, bytes: share, readers: [reader] });
        else {
          last.bytes += share;
          last.readers.push(reader);
        }
      }
    }
    return [...holdings.values()];
  }
}
