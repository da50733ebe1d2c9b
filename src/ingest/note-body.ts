import { isUtf8 } from 'node:buffer';
import { MAX_TEXT_BYTES } from '../config.ts';
import type { NoteType, PictureType } from '../feeds/note-types.ts';
import type { Gate } from '../gate.ts';
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
  /** Pictures are checked and stored within it, a few at once; see `PICTURES_AT_ONCE`. */
  readonly pictures: Gate;
  readonly maxImageBytes: number;
  readonly imageUploads: boolean;
}

/**
 * Pictures checked and stored at once. The answers of those that one sync has made durable leave together, and the
 * next uploads of their clients arrive together, so the event loop is busy in bursts, which readers wait for. While 64
 * connections post pictures of 200 KB, the p99 of RSS and of 304s is 1.5 to 1.9 times its idle value with 8 at once and
 * 2.7 to 3.4 times without a bound; in exchange a sixth fewer pictures are stored in a second.
 */
export const PICTURES_AT_ONCE = 8;

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
 * Reads a note's bytes.
 * @throws Refusal `too_large`
 */
export function readNote(request: NoteRequest, type: NoteType, rules: NoteBodyRules): Promise<Uint8Array> {
  return request.body(limitOf(type, rules));
}

/**
 * Checks a note's bytes and has them stored.
 * @param store gets the SHA-256 where it is known; that of a text is left to the first reader of its file, for most
 * texts are only read in feeds and lists
 * @throws Refusal `unsupported_type`, `empty_note`
 */
export async function checkAndStore<T>(
  type: NoteType,
  bytes: Uint8Array,
  { checks, pictures }: NoteBodyRules,
  store: (sha256?: string) => Promise<T>,
): Promise<T> {
  if (type !== 'md') return pictures.run(async () => store(await checkPicture(checks, type, bytes)));
  checkText(bytes);
  return store();
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
