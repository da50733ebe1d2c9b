import { isUtf8 } from 'node:buffer';
import { MAX_TEXT_BYTES } from '../config.ts';
import type { NoteType, PictureType } from '../feeds/note-types.ts';
import { Refusal } from '../refusals.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { noteTypeOf } from './content-type.ts';
import { inspectPicture } from './inspect.ts';
import type { HeaderSource } from './note-headers.ts';

/** A request that brings a note's bytes. */
export interface NoteRequest extends HeaderSource {
  /** Length of the body where it is known beforehand, bytes. */
  readonly contentLength: number | undefined;
  /** The whole body; valid until the request is over. */
  body(limit: number): Promise<Uint8Array>;
}

export interface NoteBodyRules {
  readonly checks: WorkerPool;
  readonly maxImageBytes: number;
  readonly imageUploads: boolean;
}

/** A note's bytes that obey all rules. */
export interface NoteBody {
  readonly bytes: Uint8Array;
  readonly sha256: string | undefined;
}

/**
 * The type of the note that a request brings, once all that can be said without its body has been checked.
 * @throws Refusal `unsupported_type`, `images_off`, `too_large`
 */
export function admitNote(request: NoteRequest, rules: NoteBodyRules): NoteType {
  const type = noteTypeOf(request.header('content-type'));
  if (type !== 'md' && !rules.imageUploads)
    throw new Refusal('images_off', 'This instance takes no pictures.');
  const limit = limitOf(type, rules);
  if ((request.contentLength ?? 0) > limit) {
    const what = type === 'md' ? 'A text' : 'A picture';
    throw new Refusal('too_large', `${what} may have at most ${limit} bytes.`);
  }
  return type;
}

/**
 * Reads a note's bytes and checks them.
 * @throws Refusal `too_large`, `unsupported_type`, `empty_note`
 */
export async function readNote(
  request: NoteRequest,
  type: NoteType,
  rules: NoteBodyRules,
): Promise<NoteBody> {
  const bytes = await request.body(limitOf(type, rules));
  if (type !== 'md') return { bytes, sha256: await checkPicture(rules.checks, type, bytes) };
  checkText(bytes);
  // Its hash is left to the first reader of the file: most texts are only read in feeds and lists.
  return { bytes, sha256: undefined };
}

function limitOf(type: NoteType, rules: NoteBodyRules): number {
  return type === 'md' ? MAX_TEXT_BYTES : rules.maxImageBytes;
}

/** Returns the picture's hash. */
async function checkPicture(checks: WorkerPool, type: PictureType, bytes: Uint8Array): Promise<string> {
  const { signed, sha256 } = await inspectPicture(checks, type, bytes);
  if (!signed)
    throw new Refusal('unsupported_type', 'The bytes are not a picture of the type that Content-Type says.');
  return sha256;
}

function checkText(bytes: Uint8Array): void {
  if (!isUtf8(bytes)) throw new Refusal('unsupported_type', 'The text is not UTF-8.');
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString().trim() === '')
    throw new Refusal('empty_note', 'The note is empty.');
}
