import { Refusal } from '../refusals.ts';

/** RFC 8187 `value-chars`, and what `encodeURIComponent` leaves as it is beyond them. */
const EXTENDED_VALUE = /^utf-8'[A-Za-z0-9-]*'((?:[\w!#$&+.^`|~*'()-]|%[0-9a-f]{2})*)$/i;
/** Looks like an encoded word, perhaps a malformed one. */
const LIKE_WORD = /^=\?[^?]*\?[^?]*\?/;
/** An RFC 2047 encoded word, with the language that RFC 2231 adds. */
const ENCODED_WORD = /^=\?([^?*]+)(?:\*[^?]*)?\?([bq])\?([!->@-~]*)\?=$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const QUOTED = /^(?:[^=]|=[0-9A-F]{2})*$/i;

/** The text of a value in extended form: `UTF-8''caf%C3%A9` (RFC 8187, only UTF-8). Undefined for anything else. */
export function extendedText(value: string): string | undefined {
  const encoded = EXTENDED_VALUE.exec(value)?.[1];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    // The bytes are not UTF-8.
    return undefined;
  }
}

/**
 * The text of a header in extended form, for example of `X-Note-Title*`.
 * Throws `invalid_request` naming `field` when it is anything else.
 */
export function decodeExtended(field: string, value: string): string {
  const text = extendedText(value);
  if (text !== undefined) return text;
  throw new Refusal('invalid_request', `${field} must have the form UTF-8''caf%C3%A9 (RFC 8187).`);
}

/**
 * A header text with its RFC 2047 encoded words decoded, for example `=?UTF-8?B?Y2Fmw6k=?=` or `=?UTF-8?Q?caf=C3=A9?=`;
 * the white space between two of them is dropped. Charsets: UTF-8, ISO-8859-1, US-ASCII. Other text is left as it is.
 * Undefined when a word is malformed or of another charset.
 */
export function textOfWords(text: string): string | undefined {
  let decoded = '';
  let gap = '';
  let afterWord = false;
  for (const token of text.split(/([ \t]+)/)) {
    const isWord = LIKE_WORD.test(token);
    if (/^[ \t]*$/.test(token)) {
      gap += token;
      continue;
    }
    const word = isWord ? decodeWord(token) : token;
    if (word === undefined) return undefined;
    decoded += (isWord && afterWord ? '' : gap) + word;
    gap = '';
    afterWord = isWord;
  }
  return decoded + gap;
}

/** As `textOfWords`, but throws `invalid_request` naming `field` instead. */
export function decodeWords(field: string, text: string): string {
  const decoded = textOfWords(text);
  if (decoded !== undefined) return decoded;
  throw new Refusal(
    'invalid_request',
    `${field} holds a malformed encoded word (RFC 2047), or one of another charset than UTF-8 and ISO-8859-1.`,
  );
}

function decodeWord(word: string): string | undefined {
  const [, charset, encoding, encoded] = ENCODED_WORD.exec(word) ?? [];
  const bytes = encoding && encoded !== undefined ? decodeBytes(encoding.toUpperCase(), encoded) : undefined;
  return charset && bytes ? decodeCharset(charset.toUpperCase(), bytes) : undefined;
}

function decodeBytes(encoding: string, encoded: string): Buffer | undefined {
  if (encoding === 'B') return BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : undefined;
  if (!QUOTED.test(encoded)) return undefined;
  const latin1 = encoded
    .replaceAll('_', ' ')
    .replace(/=(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(latin1, 'latin1');
}

function decodeCharset(charset: string, bytes: Buffer): string | undefined {
  if (charset === 'ISO-8859-1') return bytes.toString('latin1');
  if (charset === 'US-ASCII')
    return bytes.every((byte) => byte < 0x80) ? bytes.toString('latin1') : undefined;
  if (charset !== 'UTF-8') return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
