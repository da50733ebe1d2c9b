import { isUtf8 } from 'node:buffer';
import { MAX_TEXT_BYTES } from '../config.ts';
import type { NoteType } from '../feeds/note-types.ts';
import { parseTags } from '../feeds/tags.ts';
import type { Submission } from '../ingest/submission.ts';
import { Refusal } from '../refusals.ts';
import { refusePicture } from '../storage/refused-writes.ts';
import type { FeedLimits, NoteMeta } from '../storage/storage.ts';
import { isMultipart, noteTypeOf } from './content-type.ts';
import { admitMultipart, type Multipart, type MultipartRequest, readMultipart } from './multipart.ts';
import { formHeaders, type NoteHeaderSource, noteHeaders, refusePictureHeaders } from './note-headers.ts';

/** A request that brings notes: one as its body, or a text with its pictures as a form. */
export interface SubmissionRequest extends MultipartRequest, NoteHeaderSource {
  body(limit: number, onPiece?: (piece: Uint8Array) => void): Promise<Uint8Array>;
}

/** What the notes of a request must obey, beyond the rules of all. */
export interface SubmissionRules {
  readonly maxImageBytes: number;
  readonly limits: FeedLimits;
}

const NO_META: NoteMeta = { tags: [] };

/** Reads the body of a request whose headers are all right. */
export type ReadSubmission = () => Promise<Submission>;

/**
 * Checks all that the headers of a post say.
 * @returns reads the notes and checks them, all but what they hold; throws a Refusal `invalid_body`, `images_off`,
 * `license_required`, `too_large`, `unsupported_type`
 * @throws Refusal `unsupported_type`, `images_off`, `license_required`, `too_large`, `invalid_request`
 */
export function admitPost(request: SubmissionRequest, rules: SubmissionRules): ReadSubmission {
  if (!isMultipart(request.header('content-type'))) {
    const type = admitNote(request, rules);
    const meta = noteHeaders(request, type);
    return () => readNote(request, type, meta, rules);
  }
  admitMultipart(request, rules);
  const { title, tags } = formHeaders(request);
  return async () => {
    const form = await readMultipart(request, rules);
    return submitted(form, { title, tags }, form.text ? { tags } : { title, tags });
  };
}

/**
 * As `admitPost`, of a request to replace a note: what the note is called stays, so its headers say nothing but the
 * tags of new pictures. A form must have a text.
 */
export function admitReplacement(request: SubmissionRequest, rules: SubmissionRules): ReadSubmission {
  if (!isMultipart(request.header('content-type'))) {
    const type = admitNote(request, rules);
    return () => readNote(request, type, NO_META, rules);
  }
  admitMultipart(request, rules);
  refusePictureHeaders(request);
  const tags = parseTags(request.header('x-note-tags') ?? '');
  return async () => {
    const form = await readMultipart(request, rules);
    if (form.text === undefined) throw new Refusal('invalid_body', 'The part text is missing.');
    return submitted(form, NO_META, { tags });
  };
}

/** The type of the note that is the body, once all that can be said without the body has been checked. */
function admitNote(request: SubmissionRequest, rules: SubmissionRules): NoteType {
  const type = noteTypeOf(request.header('content-type'));
  refusePicture(type, rules.limits);
  const limit = limitOf(type, rules);
  if ((request.contentLength ?? 0) > limit) {
    const what = type === 'md' ? 'A text' : 'A picture';
    throw new Refusal('too_large', `${what} may have at most ${limit} bytes.`);
  }
  return type;
}

async function readNote(
  request: SubmissionRequest,
  type: NoteType,
  meta: NoteMeta,
  rules: SubmissionRules,
): Promise<Submission> {
  const bytes = await request.body(limitOf(type, rules));
  if (type !== 'md') return { text: undefined, pictures: [{ type, meta, bytes }], isForm: false };
  if (!isUtf8(bytes)) throw new Refusal('unsupported_type', 'The text is not UTF-8.');
  return { text: { type, meta, bytes }, pictures: [], isForm: false };
}

function limitOf(type: NoteType, { maxImageBytes }: SubmissionRules): number {
  return type === 'md' ? MAX_TEXT_BYTES : maxImageBytes;
}

function submitted({ text, pictures }: Multipart, ofText: NoteMeta, ofPictures: NoteMeta): Submission {
  return {
    text: text && { type: 'md', meta: ofText, bytes: text },
    pictures: pictures.map(({ type, name, alt, bytes }) => ({
      type,
      meta: { ...ofPictures, name, alt },
      bytes,
    })),
    isForm: true,
  };
}
