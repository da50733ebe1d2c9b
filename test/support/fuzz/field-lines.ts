/** Header lines as clients and proxies send them, and what RFC 9110 makes of several with one name. */
import fc from 'fast-check';

/** A line: its name in any case, and its value, one byte in each character. */
export type FieldLine = readonly [name: string, value: string];

/** What a service may make of a field. */
export type FieldValue = { readonly value: string | undefined } | 'refused';

const { constantFrom, oneof } = fc;
const utf8 = (text: string) => Buffer.from(text).toString('latin1');

/** Fields that are lists, of all that the fuzzers send. */
const LISTS = ['accept', 'accept-encoding', 'if-none-match', 'cookie', 'x-forwarded-for', 'x-note-tags'];
/** Fields that their readers ignore if they are no single value. */
const IGNORED = ['if-modified-since', 'if-range', 'range'];
const SINGLE = ['authorization', 'x-feed-password', 'x-note-title', 'x-read-id', 'origin', 'last-event-id'];
export const NAMES = [...LISTS, ...IGNORED, ...SINGLE] as const;

/** A name with some letters in capitals. */
function inAnyCase(name: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constant(name), fc.nat({ max: 2 ** 20 }))
    .map(([text, bits]) =>
      [...text].map((one, at) => ((bits >> (at % 20)) & 1 ? one.toUpperCase() : one)).join(''),
    );
}

/** Any bytes that do not end the line. */
const anyBytes = fc
  .array(oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }), fc.constant(9)), {
    maxLength: 12,
  })
  .map((bytes) => String.fromCharCode(...bytes));

const value = oneof(
  constantFrom('', ' ', '\t', 'a', 'a, b', ',', ', ,', '"a"', '*', ';', 'x-note-title'),
  constantFrom('é', 'Größe', '日本語', '\ufffd', 'a\ufffdb', '\ufeff').map(utf8),
  constantFrom('\xff', 'a\xc3', '\xc3\x28', '\xed\xa0\x80', '\xf8\x88\x80\x80\x80'),
  anyBytes,
);

/** Lines, about half of them with the name in question. */
export function linesOf(name: string): fc.Arbitrary<FieldLine[]> {
  const line = oneof(inAnyCase(name), constantFrom(...NAMES).chain(inAnyCase));
  return fc.array(fc.tuple(line, value), { maxLength: 8 });
}

export function wireLines(lines: readonly FieldLine[]): Buffer {
  return Buffer.from(lines.map(([name, text]) => `${name}: ${text}\r\n`).join(''), 'latin1');
}

/** The values of a name, without the white space around them (RFC 9110 §5.5). */
export function valuesOf(lines: readonly FieldLine[], name: string): string[] {
  return lines
    .filter(([other]) => other.toLowerCase() === name)
    .map(([, text]) => text.replace(/^[ \t]+|[ \t]+$/g, ''));
}

/** What a reader gets: RFC 9110 §5.3 for lists; for single values the refusal of the service. */
export function fieldValue(lines: readonly FieldLine[], name: string): FieldValue {
  const values = valuesOf(lines, name);
  if (values.length > 1 && SINGLE.includes(name)) return 'refused';
  const texts = values.map(strictText);
  // The binding tells a sent replacement character from bad bytes in the first line only.
  if (texts.some((text, at) => text === undefined || (at > 0 && text.includes('\ufffd')))) return 'refused';
  return { value: texts.length === 0 ? undefined : texts.join(name === 'cookie' ? '; ' : ', ') };
}

function strictText(bytes: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}
