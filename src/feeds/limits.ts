import { Refusal } from '../refusals.ts';
import type { NoteType } from './note-types.ts';

const KIB = 1024;

/** Largest markdown text, bytes. */
export const MAX_TEXT_BYTES = 100 * KIB;
/** The most pictures of one multipart request. */
export const MAX_FILES_PER_REQUEST = 10;
const MULTIPART_OVERHEAD_BYTES = 64 * KIB;

/** The largest body of a request: a multipart post with a text and ten pictures (docs/specification.md, "Limits"). */
export function largestRequestBytes(maxImageBytes: number): number {
  return MAX_TEXT_BYTES + MAX_FILES_PER_REQUEST * maxImageBytes + MULTIPART_OVERHEAD_BYTES;
}

/** The largest note of a type, bytes. */
export function noteLimit(type: NoteType, maxImageBytes: number): number {
  return type === 'md' ? MAX_TEXT_BYTES : maxImageBytes;
}

/** The refusal of a note that is larger than its limit. */
export function noteTooLarge(type: NoteType, limit: number): Refusal {
  return new Refusal('too_large', `A ${type === 'md' ? 'text' : 'picture'} may have at most ${limit} bytes.`);
}
