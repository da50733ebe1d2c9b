import { type NoteType, type PictureType, pictureType } from '../feeds/note-types.ts';
import { Refusal } from '../refusals.ts';

/** A multipart boundary (RFC 2046, section 5.1.1). */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

/** Types of a text in UTF-8. The last is what curl sends unless it is told another one. */
export const TEXT_TYPES: ReadonlySet<string> = new Set([
  'text/markdown',
  'text/plain',
  'application/x-www-form-urlencoded',
]);

/** Type of a picture whose bytes tell which one it is. */
export const UNKNOWN_PICTURE = 'application/octet-stream';

/** What a body holds: a note of a type, a picture or any note whose type its bytes tell, or a form. */
export type PostedType = NoteType | 'picture' | 'note' | 'form';

/**
 * What a body brings by its `Content-Type` (contract §4).
 * @param takesJson whether the refusal names JSON as well
 * @throws Refusal `unsupported_type`
 */
export function postedType(contentType: string | undefined, takesJson = false): PostedType {
  const { media } = parse(contentType);
  if (media === '') return 'note';
  if (media === 'multipart/form-data') return 'form';
  if (media === UNKNOWN_PICTURE) return 'picture';
  const type = noteTypeOf(contentType);
  if (type !== undefined) return type;
  throw new Refusal(
    'unsupported_type',
    'The Content-Type must be text/markdown, text/plain or application/x-www-form-urlencoded (in UTF-8), ' +
      `multipart/form-data, ${takesJson ? 'application/json, ' : ''}application/octet-stream (for a picture), ` +
      'image/png, image/jpeg, image/gif or image/webp, or be left out.',
  );
}

/** The type of a note that a `Content-Type` names; undefined for any other and for none. */
export function noteTypeOf(contentType: string | undefined): NoteType | undefined {
  const { media, isUtf8 } = parse(contentType);
  return TEXT_TYPES.has(media) && isUtf8 ? 'md' : pictureType(media);
}

/** The picture type of a `Content-Type`; undefined for any other and for none. */
export function pictureTypeOf(contentType: string | undefined): PictureType | undefined {
  return pictureType(parse(contentType).media);
}

export function isUrlencoded(contentType: string | undefined): boolean {
  const { media, isUtf8 } = parse(contentType);
  return media === 'application/x-www-form-urlencoded' && isUtf8;
}

/**
 * Whether the `text` part of a form may have this `Content-Type`: none, markdown in UTF-8, or `application/octet-stream`,
 * which browsers send for unknown files. A plain field is `text/plain` by default (RFC 7578, section 4.4).
 */
export function isTextPartType(contentType: string | undefined, isFile: boolean): boolean {
  const { media, isUtf8 } = parse(contentType);
  if (media === '' || media === 'application/octet-stream') return true;
  return isUtf8 && (media === 'text/markdown' || (media === 'text/plain' && !isFile));
}

/** @throws Refusal `invalid_body` without a valid boundary */
export function boundaryOf(contentType: string | undefined): string {
  const boundary = parseParameters(contentType ?? '')?.parameters.get('boundary') ?? '';
  if (BOUNDARY.test(boundary)) return boundary;
  throw new Refusal(
    'invalid_body',
    'The Content-Type of a multipart body must have a boundary of 1 to 70 characters.',
  );
}

const ZIP_TYPES = ['application/zip', 'application/x-zip-compressed', 'application/octet-stream'];

/** @throws Refusal `unsupported_type` for anything but a zip */
export function refuseUnlessZip(contentType: string | undefined): void {
  if (!ZIP_TYPES.includes(parse(contentType).media))
    throw new Refusal('unsupported_type', 'The Content-Type must be application/zip.');
}

export function isJson(contentType: string | undefined): boolean {
  return parse(contentType).media === 'application/json';
}

/** The media type, empty if there is none, and whether the charset is UTF-8 or absent. */
function parse(contentType: string | undefined): { media: string; isUtf8: boolean } {
  const [media = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters.map((part) => part.trim()).find((part) => part.startsWith('charset='));
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset.slice('charset='.length));
  return { media: media.trim(), isUtf8 };
}

/** One parameter with what precedes it; a semicolon may be followed by none. */
const PARAMETER = /[ \t]*;[ \t]*(?:([!#$%&'*+.^`|~\w-]+)=(?:"((?:[^"\\]|\\[\s\S])*)"|([^\s;"]*)))?[ \t]*/y;

/**
 * Parses a header value with parameters, for example `form-data; name="text"`; value and names become lower case. An
 * unquoted parameter may hold any characters up to a space or semicolon, because some clients send a boundary such as
 * `=_1` like that.
 *
 * In quotes, a backslash escapes a quote and itself (RFC 9110 quoted-pair, as older curl writes names) and is a plain
 * character before any other, as browsers write it.
 * @returns undefined for a malformed value, and for one that names a parameter twice
 */
export function parseParameters(
  header: string,
): { readonly value: string; readonly parameters: ReadonlyMap<string, string> } | undefined {
  const semicolon = header.indexOf(';');
  const end = semicolon === -1 ? header.length : semicolon;
  const parameters = new Map<string, string>();
  for (PARAMETER.lastIndex = end; PARAMETER.lastIndex < header.length; ) {
    const match = PARAMETER.exec(header);
    if (match === null) return undefined;
    const [, name, quoted, plain = ''] = match;
    if (name === undefined) continue;
    const key = name.toLowerCase();
    if (parameters.has(key)) return undefined;
    parameters.set(key, quoted === undefined ? plain : quoted.replace(/\\(["\\])/g, '$1'));
  }
  return { value: header.slice(0, end).trim().toLowerCase(), parameters };
}
