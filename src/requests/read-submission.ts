import { isUtf8 } from 'node:buffer';
import { decodeExtended, decodeWords, extendedText, textOfWords } from '../feeds/header-text.ts';
import { noteKey, optionalExpiry } from '../feeds/keeping.ts';
import { largestRequestBytes, MAX_TEXT_BYTES, noteLimit, noteTooLarge } from '../feeds/limits.ts';
import type { NoteMeta } from '../feeds/note.ts';
import { isNoteType, type NoteType } from '../feeds/note-types.ts';
import { SIGNATURE_BYTES, signedType, wrongFormat } from '../feeds/picture-bytes.ts';
import { parseTags, validTags } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine, pictureName, TITLE_LENGTH } from '../feeds/text.ts';
import type { FeedCondition } from '../ingest/post.ts';
import type { Submission } from '../ingest/submission.ts';
import { Refusal } from '../refusals.ts';
import { refusePicture } from '../writing/limits.ts';
import { type BodyRequest, jsonBody, MAX_TEXT_JSON_BYTES } from './bodies.ts';
import { feedCondition } from './conditions.ts';
import { isJson, type PostedType, postedType } from './content-type.ts';
import { type Multipart, readMultipart, refuseLargeBody, type SubmissionRules } from './multipart.ts';

const NO_META: NoteMeta = { tags: [] };

/**
 * Reads the notes and checks everything but their content.
 * @throws Refusal `invalid_body`, `images_off`, `license_required`, `too_large`, `unsupported_type`
 */
type ReadSubmission = () => Promise<Submission>;

interface HeadOfPost {
  /** Unchecked, for a new feed; empty for a random one. */
  readonly readId: string;
  readonly condition: FeedCondition | undefined;
  readonly read: ReadSubmission;
}

/**
 * Checks the headers of a post.
 * @throws Refusal `unsupported_type`, `images_off`, `license_required`, `too_large`, `invalid_request`
 */
export function admitPost(request: BodyRequest, rules: SubmissionRules): HeadOfPost {
  const read = admitNotes(request, rules);
  const sent = request.header('idempotency-key');
  const key = sent === undefined ? undefined : noteKey(sent);
  return headOf(request, async () => {
    const submission = await read();
    return key === undefined ? submission : { key, ...submission };
  });
}

/** As `admitPost`, for a post that replaces the note of a key, which may be any text. A form must have a text. */
export function admitKeyedNote(request: BodyRequest, rules: SubmissionRules, keyText: string): HeadOfPost {
  const read = admitNotes(request, rules);
  const key = noteKey(keyText);
  return headOf(request, async () => ({ ...withText(await read()), key }));
}

function headOf(request: BodyRequest, read: ReadSubmission): HeadOfPost {
  return { readId: request.header('x-read-id') ?? '', condition: feedCondition(request), read };
}

function admitNotes(request: BodyRequest, rules: SubmissionRules): ReadSubmission {
  if (isJson(request.header('content-type'))) return admitJson(request);
  const posted = postedType(request.header('content-type'), true);
  if (posted !== 'form') return admitNote(request, posted, rules, (type) => noteHeaders(request, type));
  admitForm(request, rules);
  const { title, ...ofAll } = ownHeaders(request);
  return async () => {
    const form = await readMultipart(request, rules);
    return submissionOf(form, { title, ...ofAll }, form.text ? ofAll : { title, ...ofAll });
  };
}

/** A text in JSON. What its members do not say, headers do. */
function admitJson(request: BodyRequest): ReadSubmission {
  refuseLargeBody(request, MAX_TEXT_JSON_BYTES);
  const sent = noteHeaders(request, 'md');
  return async () => {
    const { content, key, ...members } = await jsonBody(request, 'TextNote', MAX_TEXT_JSON_BYTES);
    const own = ownMembers(members);
    // An empty member says that there is none.
    const said = <M extends keyof OwnMeta>(member: M): OwnMeta[M] =>
      (members[member] === undefined ? sent : own)[member];
    const meta = { title: said('title'), tags: said('tags'), expires: said('expires') };
    const submission = submissionOfNote({ type: 'md', meta }, Buffer.from(content));
    return key === undefined ? submission : { ...submission, key: noteKey(key) };
  };
}

/** @throws Refusal `invalid_body` for a form without a text */
function withText(submission: Submission): Submission {
  if (submission.isForm && submission.text === undefined)
    throw new Refusal('invalid_body', 'The part text is missing.');
  return submission;
}

/**
 * As `admitPost`, for replacing a note. Its title, alternative text and name stay, so the only header is for the tags of
 * new pictures, and a form must have a text.
 */
export function admitReplacement(request: BodyRequest, rules: SubmissionRules): ReadSubmission {
  const posted = postedType(request.header('content-type'));
  if (posted !== 'form') return admitNote(request, posted, rules, () => NO_META);
  admitForm(request, rules);
  const tags = tagsHeader(request);
  return async () => withText(submissionOf(await readMultipart(request, rules), NO_META, { tags }));
}

/** A note of a known type whose headers are checked. */
interface AdmittedNote {
  readonly type: NoteType;
  readonly meta: NoteMeta;
  /** Bytes. */
  readonly limit: number;
}

/**
 * Checks a note as soon as its type is known: now, or when the first bytes of its body tell it.
 * @param metaOf checks the metadata of a note of that type
 */
function admitNote(
  request: BodyRequest,
  posted: Exclude<PostedType, 'form'>,
  { limits, maxImageBytes }: SubmissionRules,
  metaOf: (type: NoteType) => NoteMeta,
): ReadSubmission {
  const admit = (type: NoteType): AdmittedNote => {
    refusePicture(type, limits);
    const note = { type, limit: noteLimit(type, maxImageBytes) };
    refuseTooLarge(note, request.contentLength ?? 0);
    return { ...note, meta: metaOf(type) };
  };
  if (isNoteType(posted)) {
    const note = admit(posted);
    return async () => submissionOfNote(note, await request.body(note.limit));
  }
  // Where no picture is taken, its type makes no difference.
  if (posted === 'picture') refusePicture('png', limits);
  return async () => {
    let note: AdmittedNote | undefined;
    const bytes = await request.body(Math.max(MAX_TEXT_BYTES, maxImageBytes), (piece) => {
      const received = piece.byteOffset + piece.length;
      if (received < SIGNATURE_BYTES) return;
      note ??= admit(typeOfBytes(posted, new Uint8Array(piece.buffer, 0, received)));
      refuseTooLarge(note, received);
    });
    return submissionOfNote(note ?? admit(typeOfBytes(posted, bytes)), bytes);
  };
}

/** @throws Refusal `unsupported_type` for bytes that are no picture of ours where there must be one */
function typeOfBytes(posted: 'picture' | 'note', bytes: Uint8Array): NoteType {
  const type = signedType(bytes);
  if (type !== undefined) return type;
  if (posted === 'note') return 'md';
  throw new Refusal('unsupported_type', wrongFormat(bytes, 'PNG, JPEG, GIF or WebP'));
}

function refuseTooLarge({ type, limit }: Pick<AdmittedNote, 'type' | 'limit'>, size: number): void {
  if (size > limit) throw noteTooLarge(type, limit);
}

/**
 * A note that is all of a request.
 * @throws Refusal `unsupported_type` for a text that is not UTF-8
 */
export function submissionOfNote(
  { type, meta }: Pick<AdmittedNote, 'type' | 'meta'>,
  bytes: Uint8Array,
): Submission {
  if (type !== 'md') return { text: undefined, pictures: [{ type, meta, bytes }], isForm: false };
  if (!isUtf8(bytes)) throw new Refusal('unsupported_type', wrongFormat(bytes, 'a text in UTF-8'));
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
  const unlisted = unlistedHeader(source);
  if (type === 'md' && unlisted)
    throw new Refusal('invalid_request', 'X-Note-Unlisted belongs to pictures, not to markdown.');
  const name = type === 'md' ? undefined : nameHeader(source);
  return { ...ownHeaders(source), alt, name, ...(unlisted && { unlisted }) };
}

type HeaderSource = Pick<BodyRequest, 'header'>;

/**
 * Admits a form by its headers.
 * @throws Refusal `too_large`; `invalid_request` for headers that only a picture on its own may have
 */
function admitForm(request: BodyRequest, { maxImageBytes }: SubmissionRules): void {
  refuseLargeBody(request, largestRequestBytes(maxImageBytes));
  for (const name of ['X-Note-Alt', 'X-Note-Name'])
    if (textHeader(request, name))
      throw new Refusal(
        'invalid_request',
        `${name} belongs to a picture posted on its own; a form says it in alt.<file name> and the file name.`,
      );
  if (unlistedHeader(request))
    throw new Refusal('invalid_request', 'X-Note-Unlisted belongs to a picture posted on its own.');
}

/** An empty value is none. */
function unlistedHeader(source: HeaderSource): NoteMeta['unlisted'] {
  const value = source.header('x-note-unlisted');
  if (value && value !== '1') throw new Refusal('invalid_request', 'X-Note-Unlisted can only be 1.');
  return value ? true : undefined;
}

/** What every kind of note may have. */
type OwnMeta = Pick<NoteMeta, 'title' | 'tags' | 'expires'>;

function ownHeaders(source: HeaderSource): OwnMeta {
  const title = oneLineHeader(source, 'X-Note-Title', TITLE_LENGTH);
  return { title, tags: tagsHeader(source), expires: optionalExpiry(source.header('x-note-expires')) };
}

interface OwnMembers {
  readonly title?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly expires?: string | undefined;
}

/** The metadata in members of JSON. Throws a Refusal `invalid_request`. */
export function ownMembers({ title = '', tags = [], expires }: OwnMembers): OwnMeta {
  const ofTitle = oneLine('title', title, TITLE_LENGTH) || undefined;
  return { title: ofTitle, tags: validTags(tags), expires: optionalExpiry(expires) };
}

function tagsHeader(source: HeaderSource): string[] {
  const text = textHeader(source, 'X-Note-Tags');
  return text ? parseTags(text) : [];
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

/** `X-Note-Name` in the same forms. A name that cannot be decoded is never refused: it stays raw, or is left out. */
function nameHeader(source: HeaderSource): string | undefined {
  const extended = source.header('x-note-name*', true);
  const plain = source.header('x-note-name', true);
  if (extended === undefined && plain === undefined) return undefined;
  const name = extendedText(extended ?? '') ?? textOfWords(plain ?? '') ?? plain ?? '';
  return pictureName(name) || undefined;
}
