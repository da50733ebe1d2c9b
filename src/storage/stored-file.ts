import { createHash } from 'node:crypto';
import { Refusal } from '../refusals.ts';
import type { InsertedNote } from './rows.ts';
import type { StoredFile } from './storage.ts';

/** A row without the bytes of its note, which are elsewhere if it has a key. */
export type FileRow = Pick<
  InsertedNote,
  'feed' | 'id' | 'type' | 'modified_at' | 'sha256' | 'size' | 'image_key' | 'expires_at'
>;
/** The columns of `FileRow` but the last, which SQLite has elsewhere. */
export const FILE_COLUMNS =
  'notes.feed, notes.id, notes.type, notes.modified_at, notes.sha256, notes.size, notes.image_key';

/** Part of a row's content. */
export interface Piece {
  readonly content: Uint8Array;
}

/** The version of the file that was asked for is not there any more: no fault, so it has no cause for the log. */
export class FileReplaced extends Refusal {
  constructor() {
    super('store_unavailable', 'The note has just been replaced, please try again.');
  }
}

/** SHA-256 of a whole file, base64url, which is read piece by piece. */
export async function hashOfFile(stored: StoredFile): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of stored.read(0, stored.size)) hash.update(piece);
  return hash.digest('base64url');
}

/**
 * The file of a row.
 * @param pieceBytes the most bytes that are read at once
 * @param readPiece undefined if the row has another version by now
 */
export function storedFile(
  row: FileRow,
  pieceBytes: number,
  readPiece: (row: FileRow, start: number, length: number) => Promise<Piece | undefined>,
): StoredFile {
  const { size, modified_at, sha256, image_key: key, expires_at } = row;
  return {
    size,
    modifiedAt: modified_at,
    sha256: sha256 ?? undefined,
    key: key ?? undefined,
    expires: expires_at ?? undefined,
    async *read(start, end) {
      if (key !== null)
        throw new Refusal('not_found', 'The picture is in a store that this instance does not use.');
      for (let at = start; at < end; at += pieceBytes) {
        const piece = await readPiece(row, at, Math.min(pieceBytes, end - at));
        if (piece === undefined) throw new FileReplaced();
        yield piece.content;
      }
    },
  };
}
