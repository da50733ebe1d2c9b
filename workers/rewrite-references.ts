import { placePictures, type StoredPicture } from '../src/feeds/references.ts';

/** A text and the pictures that were posted with it. */
export interface RewriteTask {
  /** Valid UTF-8. Read where it is when in a SharedArrayBuffer; from any other buffer a thread gets a copy. */
  readonly bytes: Uint8Array;
  readonly pictures: readonly StoredPicture[];
}

/**
 * The text with the pictures under the names they are stored under, as UTF-8 in a buffer of its own; see
 * `placePictures`. All but the changes is as it was, byte for byte. Run it with a time limit.
 */
export default function rewriteReferences({ bytes, pictures }: RewriteTask): Uint8Array {
  // A TextDecoder takes no shared memory.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return new TextEncoder().encode(placePictures(text, pictures));
}
