import { isUtf8 } from 'node:buffer';
import { MAX_TEXT_BYTES } from '../config.ts';
import type { NoteType } from '../feeds/note-types.ts';
import { Refusal } from '../refusals.ts';
import { noteTypeOf } from './content-type.ts';
import type { HeaderSource } from './note-headers.ts';

/** A request that brings a note's bytes. */
export interface NoteRequest extends HeaderSource {
  /** Length of the body where it is known beforehand, bytes. */
  readonly contentLength: number | undefined;
  /** The whole body; valid until the request is over. */
  body(limit: number): Promise<Uint8Array>;
}

export interface NoteBodyRules {
  readonly maxImageBytes: number;
  readonly imageUploads: boolean;
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
 * Reads a note's bytes, and checks them where they are a text.
 * @throws Refusal `too_large`, `unsupported_type`, `empty_note`
 */
export async function readNote(
  request: NoteRequest,
  type: NoteType,
  rules: NoteBodyRules,
): Promise<Uint8Array> {
  const bytes = await request.body(limitOf(type, rules));
  if (type === 'md') checkText(bytes);
  return bytes;
}

function limitOf(type: NoteType, rules: NoteBodyRules): number {
  return type === 'md' ? MAX_TEXT_BYTES : rules.maxImageBytes;
}

function checkText(bytes: Uint8Array): void {
  if (!isUtf8(bytes)) throw new Refusal('unsupported_type', 'The text is not UTF-8.');
  refuseBlank(bytes);
}

/**
 * Refuses a text of nothing but white space.
 * @throws Refusal `empty_note`
 */
export function refuseBlank(text: Uint8Array): void {
  if (Buffer.from(text.buffer, text.byteOffset, text.length).toString().trim() === '')
    throw new Refusal('empty_note', 'The note is empty.');
}
