import type { StoredFile } from './storage.ts';

/** A note's bytes, with what says which they are. */
export interface LoadedBytes {
  readonly content: Uint8Array;
  /** Ms since the epoch. */
  readonly modifiedAt: number;
  readonly sha256: string | undefined;
}

const PIECE_BYTES = 64 * 1024;

/** The bytes of a note in memory: what is read stays one state of it even when the note is replaced or deleted. */
export class LoadedFile implements StoredFile {
  readonly modifiedAt: number;
  readonly sha256: string | undefined;
  readonly #content: Uint8Array;

  constructor({ content, modifiedAt, sha256 }: LoadedBytes) {
    this.#content = content;
    this.modifiedAt = modifiedAt;
    this.sha256 = sha256;
  }

  get size(): number {
    return this.#content.byteLength;
  }

  async *read(start: number, end: number): AsyncIterable<Uint8Array> {
    for (let at = start; at < end; at += PIECE_BYTES)
      yield this.#content.subarray(at, Math.min(at + PIECE_BYTES, end));
  }

  async close(): Promise<void> {}
}
