import type { ImageKey } from './ids.ts';
import type { NoteId } from './names.ts';
import type { NoteType } from './note-types.ts';
import type { PixelSize } from './picture-bytes.ts';

/** The metadata of a note. */
export interface NoteMeta {
  readonly title?: string | undefined;
  readonly alt?: string | undefined;
  readonly name?: string | undefined;
  readonly sender?: string | undefined;
  /** Size of the picture if it has this number of bytes; else it was replaced. */
  readonly pixels?: (PixelSize & { readonly bytes: number }) | undefined;
  readonly tags: readonly string[];
}

/** A stored note. */
export interface Note {
  readonly id: NoteId;
  readonly type: NoteType;
  /** Size of the note's bytes. */
  readonly size: number;
  /** The date that orders it (contract §3 "Order"), ms since the epoch. */
  readonly createdAt: number;
  readonly meta: NoteMeta;
  /** The markdown, byte for byte; undefined for a picture. Must not be changed. */
  readonly content: Uint8Array | undefined;
}

/** Bytes of a note about to be stored. */
export interface NoteContent {
  readonly type: NoteType;
  /** The storage reads them until the promise of its write settles and does not keep them, because the buffer is reused. */
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes in base64url, if known. */
  readonly sha256?: string | undefined;
  /** The place of the bytes, if they are in an image store; then `bytes` is empty. Only for databases. */
  readonly image?: { readonly key: ImageKey; readonly size: number } | undefined;
}

/** A note about to be stored. */
export interface NewNote extends NoteContent {
  readonly id: NoteId;
  readonly meta: NoteMeta;
}

/** The number of bytes, wherever they are. */
export function contentSize({ bytes, image }: NoteContent): number {
  return image?.size ?? bytes.byteLength;
}
