import type { NoteType, PictureType } from '../feeds/note-types.ts';
import { parseTags } from '../feeds/tags.ts';
import { Refusal } from '../refusals.ts';
import type { NoteMeta } from '../storage/storage.ts';
import { isMultipart } from './content-type.ts';
import { admitMultipart, type Multipart, type MultipartRequest, readMultipart } from './multipart.ts';
import { admitNote, type NoteBodyRules, readNote } from './note-body.ts';
import { formHeaders, noteHeaders } from './note-headers.ts';

/** A request that brings notes: one as its body, or a text with its pictures as a form. */
export interface SubmissionRequest extends MultipartRequest {
  body(limit: number, onPiece?: (piece: Uint8Array) => void): Promise<Uint8Array>;
}

/** A note as it was sent. Of a picture only its announced type is known. */
export interface Draft<Type extends NoteType = NoteType> {
  readonly type: Type;
  readonly meta: NoteMeta;
  /** Valid until the request is over. */
  readonly bytes: Uint8Array;
}

/** What a request brings: a text, a picture, or, as a form, a text or none with its pictures. */
export interface Submission {
  readonly text: Draft<'md'> | undefined;
  readonly pictures: readonly Draft<PictureType>[];
  readonly isForm: boolean;
}

/** Reads the body of a request whose headers are all right. */
export type ReadSubmission = () => Promise<Submission>;

const NO_META: NoteMeta = { tags: [] };

/**
 * Checks all that the headers of a post say.
 * @returns reads the body and checks it, all but the signatures of pictures; throws a Refusal `invalid_body`,
 * `empty_note`, `images_off`, `too_large`, `unsupported_type`
 * @throws Refusal `unsupported_type`, `images_off`, `too_large`, `invalid_request`
 */
export function admitPost(request: SubmissionRequest, rules: NoteBodyRules): ReadSubmission {
  if (!isMultipart(request.header('content-type'))) {
    const type = admitNote(request, rules);
    const meta = noteHeaders(request, type);
    return async () => single(type, meta, await readNote(request, type, rules));
  }
  admitMultipart(request, rules);
  const { title, tags } = formHeaders(request);
  return async () => {
    const form = await readMultipart(request, rules);
    return submitted(form, { title, tags }, form.text ? { tags } : { title, tags });
  };
}

/**
 * As `admitPost`, of a request to replace a note: what the note is called stays, so its headers say nothing, but for the
 * tags of new pictures. A form must have a text.
 */
export function admitReplacement(request: SubmissionRequest, rules: NoteBodyRules): ReadSubmission {
  if (!isMultipart(request.header('content-type'))) {
    const type = admitNote(request, rules);
    return async () => single(type, NO_META, await readNote(request, type, rules));
  }
  admitMultipart(request, rules);
  const tags = parseTags(request.header('x-note-tags') ?? '');
  return async () => {
    const form = await readMultipart(request, rules);
    if (form.text === undefined) throw new Refusal('invalid_body', 'The part text is missing.');
    return submitted(form, NO_META, { tags });
  };
}

function single(type: NoteType, meta: NoteMeta, bytes: Uint8Array): Submission {
  return type === 'md'
    ? { text: { type, meta, bytes }, pictures: [], isForm: false }
    : { text: undefined, pictures: [{ type, meta, bytes }], isForm: false };
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
