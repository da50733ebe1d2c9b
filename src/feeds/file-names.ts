import { FORBIDDEN } from './text.ts';

/** Longest file name, in UTF-16 units. */
const FILE_NAME_LENGTH = 200;

const FORBIDDEN_IN_NAME = new RegExp(`${FORBIDDEN.source}|[/\\\\]`);
const EVERY_FORBIDDEN = new RegExp(FORBIDDEN_IN_NAME, 'g');

/** What browsers write for the three characters that would end a quoted name. */
const FORM_ESCAPES: Readonly<Record<string, string>> = { '%22': '"', '%0A': '\n', '%0D': '\r' };

/**
 * What is wrong with the name of a picture in a multipart request (docs/specification.md, "Multipart parts"), as a clause that
 * follows `attachment "<name>":`; undefined for a valid name. Does not check that it is unique in its request.
 */
export function fileNameFault(name: string): string | undefined {
  if (name === '') return 'a file must have a name';
  if (name.length > FILE_NAME_LENGTH)
    return `a file name must be at most ${FILE_NAME_LENGTH} UTF-16 units long`;
  if (FORBIDDEN_IN_NAME.test(name))
    return (
      'a file name must be one line without "/", backslash, control characters and ' +
      'text-direction overrides'
    );
  if (name.trim() !== name) return 'a file name must not begin or end with a space';
  if (/^\.+$/.test(name)) return 'a file name must not be only dots';
  return undefined;
}

/** A file name as a refusal shows it: each forbidden character is a replacement character. */
export function shownFileName(name: string): string {
  return name.replace(EVERY_FORBIDDEN, '\ufffd');
}

/**
 * A name out of a multipart header as it was before it was sent: `%22`, `%0A` and `%0D` stand for a double quote and
 * the two line breaks (HTML, "multipart/form-data encoding algorithm"). Other percent sequences are part of the name.
 */
export function decodeFormName(sent: string): string {
  return sent.replace(/%(?:22|0A|0D)/g, (sequence) => FORM_ESCAPES[sequence]!);
}
