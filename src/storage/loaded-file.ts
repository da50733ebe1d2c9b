import type { ImageKey } from '../feeds/image-keys.ts';
import { Refusal } from '../refusals.ts';
import type { StoredFile } from './storage.ts';

const PIECE_BYTES = 64 * 1024;

/** The bytes of a note in memory, or the key under which an image store has them. */
export type NoteBytes = Pick<StoredFile, 'size' | 'modifiedAt' | 'sha256'> &
  ({ readonly content: Uint8Array } | { readonly key: ImageKey });

/** What databases say of the bytes of a note. */
export interface BytesRow {
  readonly content: Uint8Array;
  readonly modified_at: number;
  readonly sha256: string | null;
  readonly size: number;
  readonly image_key: ImageKey | null;
}

export function bytesOf(row: Omit<BytesRow, 'content'>, content: Uint8Array): NoteBytes {
  const { size, modified_at: modifiedAt, sha256, image_key: key } = row;
  const version = { size, modifiedAt, sha256: sha256 ?? undefined };
  return key === null ? { ...version, content } : { ...version, key };
}

/** What is read of bytes in memory stays one state of them even if the note is replaced or deleted. */
export function storedFile(found: NoteBytes): StoredFile {
  const { size, modifiedAt, sha256 } = found;
  const version = { size, modifiedAt, sha256, close: async () => {} };
  if ('key' in found) return { ...version, key: found.key, read: readWithoutStore };
  const { content } = found;
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
