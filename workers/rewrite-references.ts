import { placePictures, type StoredPicture } from '../src/feeds/references.ts';

/** A text and its pictures. */
export interface RewriteTask {
  /** UTF-8. A SharedArrayBuffer is read in place; of any other buffer the thread gets a copy. */
  readonly bytes: Uint8Array;
  readonly pictures: readonly StoredPicture[];
}

/** Writes the stored names of the pictures into the text; see `placePictures`. Returns new UTF-8. Run it with a time limit. */
export default function rewriteReferences({ bytes, pictures }: RewriteTask): Uint8Array {
  // A TextDecoder takes no shared memory.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return new TextEncoder().encode(placePictures(text, pictures));
}
