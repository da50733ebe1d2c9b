import { decodeExtended, decodeWords, extendedText, textOfWords } from '../feeds/header-text.ts';
import type { NoteType } from '../feeds/note-types.ts';
import { parseTags } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine, pictureName } from '../feeds/text.ts';
import { TITLE_LENGTH } from '../feeds/title.ts';
import { Refusal } from '../refusals.ts';
import type { NoteMeta } from '../storage/storage.ts';

/** Where headers come from, by lower-case name. */
export interface HeaderSource {
  header(name: string): string | undefined;
}

/** Where the headers of a note come from. */
export interface NoteHeaderSource extends HeaderSource {
  /** As `header`, but bytes that are not UTF-8 are left out instead of refused. */
  lenientHeader(name: string): string | undefined;
}

/**
 * What a post's headers say of its note (spec.md, "Posting").
 * @throws Refusal `invalid_request` for a value that breaks its rule
 */
export function noteHeaders(source: NoteHeaderSource, type: NoteType): NoteMeta {
  const alt = oneLineHeader(source, 'X-Note-Alt', ALT_LENGTH);
  if (type === 'md' && alt !== undefined)
    throw new Refusal('invalid_request', 'X-Note-Alt belongs to pictures, not to markdown.');
  return { ...titleAndTags(source), alt, name: type === 'md' ? undefined : nameHeader(source) };
}

/**
 * What a post's headers say of the notes of its form: their title and tags.
 * @throws Refusal `invalid_request` for a value that breaks its rule, and for what parts of the form say
 */
export function formHeaders(source: HeaderSource): Pick<NoteMeta, 'title' | 'tags'> {
  refusePictureHeaders(source);
  return titleAndTags(source);
}

/**
 * Refuses the headers that speak of the one picture that is the body, in a request with a form.
 * @throws Refusal `invalid_request`
 */
export function refusePictureHeaders(source: HeaderSource): void {
  for (const name of ['X-Note-Alt', 'X-Note-Name'])
    if (textHeader(source, name))
      throw new Refusal(
        'invalid_request',
        `${name} belongs to a picture posted on its own; a form says it in alt.<file name> and the file name.`,
      );
}

function titleAndTags(source: HeaderSource): Pick<NoteMeta, 'title' | 'tags'> {
  return {
    title: oneLineHeader(source, 'X-Note-Title', TITLE_LENGTH),
    tags: parseTags(source.header('x-note-tags') ?? ''),
  };
}

/** An empty text is none. */
function oneLineHeader(source: HeaderSource, name: string, maxLength: number): string | undefined {
  return oneLine(name, textHeader(source, name) ?? '', maxLength) || undefined;
}

/** A text in one of the three forms of contract §3: as it is, RFC 2047 encoded words, or `X-…*` (RFC 8187). */
function textHeader(source: HeaderSource, name: string): string | undefined {
  const extended = source.header(`${name.toLowerCase()}*`);
  if (extended !== undefined) return decodeExtended(`${name}*`, extended);
  const plain = source.header(name.toLowerCase());
  return plain && decodeWords(name, plain);
}

/** `X-Note-Name` in the same forms. No picture is refused for it: what cannot be decoded is taken as it is, or left out. */
function nameHeader(source: NoteHeaderSource): string | undefined {
  const extended = extendedText(source.lenientHeader('x-note-name*') ?? '');
  const plain = source.lenientHeader('x-note-name') ?? '';
  return pictureName(extended ?? textOfWords(plain) ?? plain) || undefined;
}
