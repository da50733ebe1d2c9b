import { Refusal } from '../refusals.ts';

/** A client that has not taken all of an answer yet. */
export interface SlowReader {
  readonly client: string;
  /** Ends the answer soon. */
  giveWay(reason: Refusal): void;
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
    while (this.#used > this.#total) this.#endOne();
  }

  /** May be called more than once. */
  release(memory: ArrayBufferLike, reader: SlowReader): void {
    const readers = this.#readers.get(memory);
    if (!readers?.delete(reader) || readers.size > 0) return;
    this.#readers.delete(memory);
    this.#used -= memory.byteLength;
  }

  #endOne(): void {
    const shares = new Map<string, number>();
    for (const [{ byteLength }, readers] of this.#readers)
      for (const { client } of readers)
        shares.set(client, (shares.get(client) ?? 0) + byteLength / readers.size);
    const [largest] = [...shares].reduce((larger, one) => (one[1] > larger[1] ? one : larger));
    for (const [memory, readers] of this.#readers)
      for (const reader of readers) {
        if (reader.client !== largest) continue;
        this.release(memory, reader);
        reader.giveWay(new Refusal('busy', 'Too many answers wait for slow clients.'));
        return;
      }
  }
}
