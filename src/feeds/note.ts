import type { ImageKey } from './ids.ts';
import type { NoteFile, NoteId } from './names.ts';
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
  /** Names the note within its feed, as long as it lives (contract §13). A secret of its sender, as the feed's name is. */
  readonly key?: string | undefined;
  /** The post that the key stands for, as it was sent; undefined for a key that somebody wrote by hand. */
  readonly posted?: PostedUnderKey | undefined;
  /** From this moment on the note is in no answer, ms since the epoch. */
  readonly expires?: number | undefined;
  /** Of a picture: the text that it came with. Whether that shows it is found out at each read (`Attachments`). */
  readonly attachedTo?: NoteId | undefined;
  /** Of a picture: only lists have it. */
  readonly unlisted?: true | undefined;
  /** Last change of its bytes, title, alternative text or tags by a client after the post, ms since the epoch. */
  readonly edited?: number | undefined;
}

/** What the answer to the same post under the same key needs. */
interface PostedUnderKey {
  /** Of everything that was sent, in base64url. */
  readonly hash: string;
  /** The pictures of a form, in order; undefined for a post that was no form. */
  readonly attachments?: readonly NoteFile[] | undefined;
}

export function isExpired({ meta }: Pick<Note, 'meta'>, now: number): boolean {
  return meta.expires !== undefined && meta.expires <= now;
}

/** Whether pages and feeds never show a note by itself. Only a picture can be so, whatever somebody wrote by hand. */
export function isUnlisted({ type, meta }: Pick<Note, 'type' | 'meta'>): boolean {
  return type !== 'md' && meta.unlisted === true;
}

/** A stored note. */
export interface Note {
  readonly id: NoteId;
  readonly type: NoteType;
  /** Size of the note's bytes. */
  readonly size: number;
  /** The date that orders it (contract §3 "Order"), ms since the epoch. */
  readonly createdAt: number;
  /** Last change of the bytes, ms since the epoch, which may be a fraction; in databases no two versions have the same. */
  readonly modifiedAt: number;
  readonly meta: NoteMeta;
  /** Members of its metadata for other programs; undefined if there are none. */
  readonly others?: Readonly<Record<string, unknown>> | undefined;
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
  /** Of a note that was elsewhere before: its dates, whole ms since the epoch; now, or what the id says, unless given. */
  readonly createdAt?: number | undefined;
  readonly modifiedAt?: number | undefined;
  /** Of such a note: members of its metadata for other programs. */
  readonly others?: Readonly<Record<string, unknown>> | undefined;
}

/** The number of bytes, wherever they are. */
export function contentSize({ bytes, image }: NoteContent): number {
  return image?.size ?? bytes.byteLength;
}
