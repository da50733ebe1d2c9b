import { isUtf8 } from 'node:buffer';
import { MAX_TEXT_BYTES } from '../config.ts';
import { decodeExtended, decodeWords, extendedText, textOfWords } from '../feeds/header-text.ts';
import type { NoteType } from '../feeds/note-types.ts';
import { parseTags } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine, pictureName } from '../feeds/text.ts';
import { TITLE_LENGTH } from '../feeds/title.ts';
import type { Submission } from '../ingest/submission.ts';
import { Refusal } from '../refusals.ts';
import { refusePicture } from '../storage/refused-writes.ts';
import type { FeedLimits, NoteMeta } from '../storage/storage.ts';
import { postedType } from './content-type.ts';
import {
  admitMultipart,
  type HeaderSource,
  type Multipart,
  type MultipartRequest,
  readMultipart,
} from './multipart.ts';

/** A request that brings notes: one as its body, or a text with its pictures as a form. */
export interface SubmissionRequest extends MultipartRequest {
  body(limit: number, onPiece?: (piece: Uint8Array) => void): Promise<Uint8Array>;
}

/** What the notes of a request must obey, beyond the rules of all. */
export interface SubmissionRules {
  readonly maxImageBytes: number;
  readonly limits: FeedLimits;
}

const NO_META: NoteMeta = { tags: [] };

/** A post whose headers are all right. */
export interface AdmittedPost {
  /** The read id chosen for a feed that the post makes, not checked; empty for a random one. */
  readonly readId: string;
  /**
   * Reads the notes and checks all but what they hold.
   * @throws Refusal `invalid_body`, `images_off`, `license_required`, `too_large`, `unsupported_type`
   */
  read(): Promise<Submission>;
}

/**
 * Checks all that the headers of a post say.
 * @throws Refusal `unsupported_type`, `images_off`, `license_required`, `too_large`, `invalid_request`
 */
export function admitPost(request: SubmissionRequest, rules: SubmissionRules): AdmittedPost {
  const read = admitNotes(request, rules);
  return { readId: request.header('x-read-id') ?? '', read };
}

function admitNotes(request: SubmissionRequest, rules: SubmissionRules): AdmittedPost['read'] {
  const type = postedType(request.header('content-type'));
  if (type !== 'form') {
    admitNote(request, type, rules);
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
export function admitReplacement(request: SubmissionRequest, rules: SubmissionRules): AdmittedPost['read'] {
  const type = postedType(request.header('content-type'));
  if (type !== 'form') {
    admitNote(request, type, rules);
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

/** Checks all that can be said of a note without its bytes. */
function admitNote(request: SubmissionRequest, type: NoteType, rules: SubmissionRules): void {
  refusePicture(type, rules.limits);
  const limit = limitOf(type, rules);
  if ((request.contentLength ?? 0) > limit) {
    const what = type === 'md' ? 'A text' : 'A picture';
    throw new Refusal('too_large', `${what} may have at most ${limit} bytes.`);
  }
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

/**
 * The notes of a form.
 * @param ofText title and tags of the text
 * @param ofPictures those of its pictures
 */
export function submitted({ text, pictures }: Multipart, ofText: NoteMeta, ofPictures: NoteMeta): Submission {
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

/**
 * What a post's headers say of its note (docs/specification.md, "Posting").
 * @throws Refusal `invalid_request` for a value that breaks its rule
 */
export function noteHeaders(source: HeaderSource, type: NoteType): NoteMeta {
  const alt = oneLineHeader(source, 'X-Note-Alt', ALT_LENGTH);
  if (type === 'md' && alt !== undefined)
    throw new Refusal('invalid_request', 'X-Note-Alt belongs to pictures, not to markdown.');
  return { ...titleAndTags(source), alt, name: type === 'md' ? undefined : nameHeader(source) };
}

/**
 * What a post's headers say of the notes of its form: their title and tags.
 * @throws Refusal `invalid_request` for a value that breaks its rule, and for what parts of the form say
 */
function formHeaders(source: HeaderSource): Pick<NoteMeta, 'title' | 'tags'> {
  refusePictureHeaders(source);
  return titleAndTags(source);
}

/**
 * Refuses the headers that speak of the one picture that is the body, in a request with a form.
 * @throws Refusal `invalid_request`
 */
function refusePictureHeaders(source: HeaderSource): void {
  for (const name of ['X-Note-Alt', 'X-Note-Name'])
    if (textHeader(source, name))
      throw new Refusal(
        'invalid_request',
        `${name} belongs to a picture posted on its own; a form says it in alt.<file name> and the file name.`,
      );
}

function titleAndTags(source: HeaderSource): Pick<NoteMeta, 'title' | 'tags'> {
  const tags = source.header('x-note-tags');
  return {
    title: oneLineHeader(source, 'X-Note-Title', TITLE_LENGTH),
    tags: tags === undefined ? [] : parseTags(tags),
  };
}

/** An empty text is none. */
function oneLineHeader(source: HeaderSource, name: string, maxLength: number): string | undefined {
  const text = textHeader(source, name);
  return text === undefined ? undefined : oneLine(name, text, maxLength) || undefined;
}

/** A text in one of the three forms of contract §3: as it is, RFC 2047 encoded words, or `X-…*` (RFC 8187). */
function textHeader(source: HeaderSource, name: string): string | undefined {
  const extended = source.header(`${name.toLowerCase()}*`);
  if (extended !== undefined) return decodeExtended(`${name}*`, extended);
  const plain = source.header(name.toLowerCase());
  return plain && decodeWords(name, plain);
}

/** `X-Note-Name` in the same forms. No picture is refused for it: what cannot be decoded is taken as it is, or left out. */
function nameHeader(source: HeaderSource): string | undefined {
  const extended = source.header('x-note-name*', true);
  const plain = source.header('x-note-name', true);
  if (extended === undefined && plain === undefined) return undefined;
  const name = extendedText(extended ?? '') ?? textOfWords(plain ?? '') ?? plain ?? '';
  return pictureName(name) || undefined;
}
