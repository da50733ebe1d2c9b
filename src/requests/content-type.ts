import { type NoteType, type PictureType, pictureType } from '../feeds/note-types.ts';
import { Refusal } from '../refusals.ts';
import { parseParameters } from './header-parameters.ts';

/** A multipart boundary (RFC 2046, section 5.1.1). */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

/**
 * What the `Content-Type` of a post announces: `text/markdown` in UTF-8, one of the four picture types, or a form.
 * @throws Refusal `unsupported_type` for any other, and for none
 */
export function postedType(contentType: string | undefined): NoteType | 'form' {
  const { media, isUtf8 } = parse(contentType);
  if (media === 'text/markdown' && isUtf8) return 'md';
  if (media === 'multipart/form-data') return 'form';
  const picture = pictureType(media);
  if (picture !== undefined) return picture;
  throw new Refusal(
    'unsupported_type',
    'The Content-Type must be text/markdown (in UTF-8), image/png, image/jpeg, image/gif or image/webp.',
  );
}

/** The picture type a `Content-Type` announces, or undefined for any other and for none. */
export function pictureTypeOf(contentType: string | undefined): PictureType | undefined {
  return pictureType(parse(contentType).media);
}

/** Whether a `Content-Type` announces the fields of a page's form. */
export function isUrlencoded(contentType: string | undefined): boolean {
  const { media, isUtf8 } = parse(contentType);
  return media === 'application/x-www-form-urlencoded' && isUtf8;
}

/**
 * Whether the `text` part of a multipart request may have this `Content-Type`: none, markdown in UTF-8, or what
 * browsers say of a file they do not know. A plain field is `text/plain` by default (RFC 7578, section 4.4), so one
 * that says so is taken too.
 */
export function isTextPartType(contentType: string | undefined, isFile: boolean): boolean {
  const { media, isUtf8 } = parse(contentType);
  if (media === '' || media === 'application/octet-stream') return true;
  return isUtf8 && (media === 'text/markdown' || (media === 'text/plain' && !isFile));
}

/**
 * The boundary that the `Content-Type` of a multipart request names.
 * @throws Refusal `invalid_body` where it names none, or one that cannot be
 */
export function boundaryOf(contentType: string | undefined): string {
  const boundary = parseParameters(contentType ?? '')?.parameters.get('boundary') ?? '';
  if (BOUNDARY.test(boundary)) return boundary;
  throw new Refusal(
    'invalid_body',
    'The Content-Type of a multipart body must have a boundary of 1 to 70 characters.',
  );
}

/** Whether a `Content-Type` announces JSON. */
export function isJson(contentType: string | undefined): boolean {
  return parse(contentType).media === 'application/json';
}

/** The media type, empty where there is none, and whether the parameters say nothing else than UTF-8. */
function parse(contentType: string | undefined): { media: string; isUtf8: boolean } {
  const [media = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters.map((part) => part.trim()).find((part) => part.startsWith('charset='));
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset.slice('charset='.length));
  return { media: media.trim(), isUtf8 };
}
