import { Refusal } from '../refusals.ts';
import type { InsertedNote } from './rows.ts';
import type { StoredFile } from './storage.ts';

const PIECE_BYTES = 64 * 1024;

/** A row with the bytes of a note in `content`, unless an image store has them under the key. */
export type BytesRow = Pick<InsertedNote, 'content' | 'modified_at' | 'sha256' | 'size' | 'image_key'>;

/** A file in memory, which stays the same even if the note is replaced or deleted. */
export function storedFile({ size, modified_at, sha256, image_key: key, content }: BytesRow): StoredFile {
  const version = { size, modifiedAt: modified_at, sha256: sha256 ?? undefined, close: async () => {} };
  if (key !== null) return { ...version, key, read: readWithoutStore };
  return {
    ...version,
    async *read(start, end) {
      for (let at = start; at < end; at += PIECE_BYTES)
        yield content.subarray(at, Math.min(at + PIECE_BYTES, end));
    },
  };
}

// biome-ignore lint/correctness/useYield: there is nothing to yield
async function* readWithoutStore(): AsyncIterable<Uint8Array> {
  throw new Refusal('not_found', 'The picture is in a store that this instance does not use.');
}
