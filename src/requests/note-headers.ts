import { decodeExtended, decodeWords } from '../feeds/header-text.ts';
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

/**
 * What a post's headers say of its note (spec.md, "Posting").
 * @throws Refusal `invalid_request` for a value that breaks its rule
 */
export function noteHeaders(source: HeaderSource, type: NoteType): NoteMeta {
  const alt = textHeader(source, 'X-Note-Alt');
  const name = textHeader(source, 'X-Note-Name');
  if (type === 'md' && (alt ?? name) !== undefined)
    throw new Refusal('invalid_request', 'X-Note-Alt and X-Note-Name belong to pictures, not to markdown.');
  return {
    ...titleAndTags(source),
    alt: orNone(alt && oneLine('X-Note-Alt', alt, ALT_LENGTH)),
    name: orNone(name && pictureName('X-Note-Name', name)),
  };
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
    if (textHeader(source, name) !== undefined)
      throw new Refusal(
        'invalid_request',
        `${name} belongs to a picture posted on its own; a form says it in alt.<file name> and the file name.`,
      );
}

function titleAndTags(source: HeaderSource): Pick<NoteMeta, 'title' | 'tags'> {
  const title = textHeader(source, 'X-Note-Title');
  return {
    title: orNone(title && oneLine('X-Note-Title', title, TITLE_LENGTH)),
    tags: parseTags(source.header('x-note-tags') ?? ''),
  };
}

/** A text in one of the three forms of contract §3: as it is, RFC 2047 encoded words, or `X-…*` (RFC 8187). */
function textHeader(source: HeaderSource, name: string): string | undefined {
  const extended = source.header(`${name.toLowerCase()}*`);
  if (extended !== undefined) return decodeExtended(`${name}*`, extended);
  const plain = source.header(name.toLowerCase());
  if (plain === undefined) return undefined;
  if (plain === '')
    throw new Refusal(
      'invalid_request',
      `${name} arrived empty. Letters beyond ASCII at its ends are lost on the way: ` +
        `send it as ${name}*: UTF-8''... (RFC 8187), or leave it out.`,
    );
  return decodeWords(name, plain);
}

function orNone(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
