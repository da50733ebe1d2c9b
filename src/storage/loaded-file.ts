import type { ImageKey } from '../feeds/image-keys.ts';
import { Refusal } from '../refusals.ts';
import type { StoredFile } from './storage.ts';

/** A note's bytes, with what says which they are. */
export interface LoadedBytes {
  readonly content: Uint8Array;
  /** Ms since the epoch. */
  readonly modifiedAt: number;
  readonly sha256: string | undefined;
}

/** What says which bytes an image store has of a note. */
export interface KeyedBytes extends Omit<LoadedBytes, 'content'> {
  readonly key: ImageKey;
  readonly size: number;
}

/** The bytes of a note in memory, or where they are. */
export function storedFile(found: LoadedBytes | KeyedBytes): StoredFile {
  return 'key' in found ? new KeyedFile(found) : new LoadedFile(found);
}

/** A picture in an image store. Without one, its bytes are gone. */
class KeyedFile implements StoredFile {
  readonly size: number;
  readonly modifiedAt: number;
  readonly sha256: string | undefined;
  readonly key: ImageKey;

  constructor({ size, modifiedAt, sha256, key }: KeyedBytes) {
    this.size = size;
    this.modifiedAt = modifiedAt;
    this.sha256 = sha256;
    this.key = key;
  }

  // biome-ignore lint/correctness/useYield: there is nothing to yield
  async *read(): AsyncIterable<Uint8Array> {
    throw new Refusal('not_found', 'The picture is in a store that this instance does not use.');
  }

  async close(): Promise<void> {}
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
