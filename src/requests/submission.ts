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
import type { NoteMeta } from '../storage/storage.ts';
import type { BodyRequest } from './bodies.ts';
import { postedType } from './content-type.ts';
import { admitMultipart, type Multipart, readMultipart, type SubmissionRules } from './multipart.ts';

const NO_META: NoteMeta = { tags: [] };

/**
 * Reads the notes and checks everything but their content.
 * @throws Refusal `invalid_body`, `images_off`, `license_required`, `too_large`, `unsupported_type`
 */
type ReadSubmission = () => Promise<Submission>;

/**
 * Checks the headers of a post. `readId` is the unchecked read id for a new feed, empty for a random one.
 * @throws Refusal `unsupported_type`, `images_off`, `license_required`, `too_large`, `invalid_request`
 */
export function admitPost(
  request: BodyRequest,
  rules: SubmissionRules,
): { readonly readId: string; readonly read: ReadSubmission } {
  const read = admitNotes(request, rules);
  return { readId: request.header('x-read-id') ?? '', read };
}

function admitNotes(request: BodyRequest, rules: SubmissionRules): ReadSubmission {
  const type = postedType(request.header('content-type'));
  if (type !== 'form') {
    const limit = admitNote(request, type, rules);
    const meta = noteHeaders(request, type);
    return () => readNote(request, type, meta, limit);
  }
  admitMultipart(request, rules);
  refusePictureHeaders(request);
  const { title, tags } = titleAndTags(request);
  return async () => {
    const form = await readMultipart(request, rules);
    return submissionOf(form, { title, tags }, form.text ? { tags } : { title, tags });
  };
}

/**
 * As `admitPost`, for replacing a note. Its title, alternative text and name stay, so the only header is for the tags of
 * new pictures, and a form must have a text.
 */
export function admitReplacement(request: BodyRequest, rules: SubmissionRules): ReadSubmission {
  const type = postedType(request.header('content-type'));
  if (type !== 'form') {
    const limit = admitNote(request, type, rules);
    return () => readNote(request, type, NO_META, limit);
  }
  admitMultipart(request, rules);
  refusePictureHeaders(request);
  const tags = parseTags(request.header('x-note-tags') ?? '');
  return async () => {
    const form = await readMultipart(request, rules);
    if (form.text === undefined) throw new Refusal('invalid_body', 'The part text is missing.');
    return submissionOf(form, NO_META, { tags });
  };
}

/** Checks what can be known without the bytes; returns the size limit. */
function admitNote(request: BodyRequest, type: NoteType, { limits, maxImageBytes }: SubmissionRules): number {
  refusePicture(type, limits);
  const limit = type === 'md' ? MAX_TEXT_BYTES : maxImageBytes;
  if ((request.contentLength ?? 0) > limit) {
    const what = type === 'md' ? 'A text' : 'A picture';
    throw new Refusal('too_large', `${what} may have at most ${limit} bytes.`);
  }
  return limit;
}

async function readNote(
  request: BodyRequest,
  type: NoteType,
  meta: NoteMeta,
  limit: number,
): Promise<Submission> {
  const bytes = await request.body(limit);
  if (type !== 'md') return { text: undefined, pictures: [{ type, meta, bytes }], isForm: false };
  if (!isUtf8(bytes)) throw new Refusal('unsupported_type', 'The text is not UTF-8.');
  return { text: { type, meta, bytes }, pictures: [], isForm: false };
}

/** The notes of a form, with the title and tags of its text and of its pictures. */
export function submissionOf(
  { text, pictures }: Multipart,
  textMeta: NoteMeta,
  pictureMeta: NoteMeta,
): Submission {
  return {
    text: text && { type: 'md', meta: textMeta, bytes: text },
    pictures: pictures.map(({ type, name, alt, bytes }) => {
      return { type, meta: { ...pictureMeta, name, alt }, bytes };
    }),
    isForm: true,
  };
}

/**
 * The metadata in the headers of a post (docs/specification.md, "Posting").
 * @throws Refusal `invalid_request` for a value that breaks its rule
 */
export function noteHeaders(source: HeaderSource, type: NoteType): NoteMeta {
  const alt = oneLineHeader(source, 'X-Note-Alt', ALT_LENGTH);
  if (type === 'md' && alt !== undefined)
    throw new Refusal('invalid_request', 'X-Note-Alt belongs to pictures, not to markdown.');
  return { ...titleAndTags(source), alt, name: type === 'md' ? undefined : nameHeader(source) };
}

type HeaderSource = Pick<BodyRequest, 'header'>;

/** A form has these in its parts. */
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

/** A text in one of the three forms of contract §3: plain, RFC 2047 encoded words, or `X-…*` (RFC 8187). */
function textHeader(source: HeaderSource, name: string): string | undefined {
  const extended = source.header(`${name.toLowerCase()}*`);
  if (extended !== undefined) return decodeExtended(`${name}*`, extended);
  const plain = source.header(name.toLowerCase());
  return plain && decodeWords(name, plain);
}

/** `X-Note-Name` in the same forms. It never causes a refusal: a name that cannot be decoded stays raw, or is left out. */
function nameHeader(source: HeaderSource): string | undefined {
  const extended = source.header('x-note-name*', true);
  const plain = source.header('x-note-name', true);
  if (extended === undefined && plain === undefined) return undefined;
  const name = extendedText(extended ?? '') ?? textOfWords(plain ?? '') ?? plain ?? '';
  return pictureName(name) || undefined;
}
