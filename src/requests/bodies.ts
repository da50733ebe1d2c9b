import type { z } from 'zod';
import { MAX_TEXT_BYTES, noteTooLarge } from '../feeds/limits.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import type { JsonBodies } from '../schemas.ts';
import { isUrlencoded } from './content-type.ts';

export type BodyRequest = Pick<Exchange, 'header' | 'contentLength' | 'body'>;

/** Largest form of a page unless the operation says otherwise, bytes. */
const MAX_FORM_BYTES = 16 * 1024;
/** Largest JSON body unless the operation says otherwise, bytes. */
export const MAX_JSON_BYTES = 8 * 1024;
/** Largest JSON body with a text, bytes: JSON may escape each byte of it by six characters. */
export const MAX_TEXT_JSON_BYTES = 6 * MAX_TEXT_BYTES + MAX_JSON_BYTES;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** What a member must be, by the validator's name for it. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};

/**
 * Reads the fields of a form without files (https://url.spec.whatwg.org/#application/x-www-form-urlencoded).
 * @throws Refusal `unsupported_type`, `too_large`; `invalid_body` if it is not UTF-8, because `URLSearchParams` would
 * silently replace the wrong bytes
 */
export async function formBody(request: BodyRequest, maxBytes = MAX_FORM_BYTES): Promise<URLSearchParams> {
  if (!isUrlencoded(request.header('content-type')))
    throw new Refusal('unsupported_type', 'The Content-Type must be application/x-www-form-urlencoded.');
  const bytes = await request.body(maxBytes);
  try {
    const text = utf8.decode(bytes);
    decodeURIComponent(text);
    return new URLSearchParams(text);
  } catch (cause) {
    throw new Refusal('invalid_body', 'The form is not UTF-8.', { cause });
  }
}

/**
 * Reads a JSON body of the named schema; unknown members are ignored.
 * @throws Refusal `too_large`; `invalid_body` for the first thing that is wrong
 */
export async function jsonBody<N extends keyof JsonBodies>(
  request: Pick<BodyRequest, 'body'>,
  name: N,
  maxBytes = MAX_JSON_BYTES,
): Promise<JsonBodies[N]> {
  const value = parseMessage(await request.body(maxBytes));
  if (value === undefined)
    throw new Refusal('invalid_body', 'The body is not JSON in UTF-8, or has too many values.');
  const { JSON_BODIES } = await import('../schemas.ts');
  const schema = JSON_BODIES[name] as unknown as z.ZodType<JsonBodies[N]>;
  return checked(schema, value, (path, kind) =>
    path === '' ? `The body must be ${kind} in JSON.` : `The member "${path}" of the body must be ${kind}.`,
  );
}

/**
 * A value that must have the types of a schema. The validator's own words may change with its version.
 * @param sentence says what a member must be, by its path, which is empty for the value itself
 * @throws Refusal `invalid_body` for the first thing that is wrong
 */
export function checked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  sentence: (path: string, kind: string) => string,
): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Refusal('invalid_body', sentence(issue.path.join('.'), kindOf(issue)));
}

/** What the value with this fault must be. */
function kindOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_big' && issue.origin === 'string')
    return `a text of at most ${issue.maximum} characters (UTF-16 units)`;
  return (issue.code === 'invalid_type' && KINDS[issue.expected]) || 'another value';
}

/** The markdown of a preview request. Throws a Refusal `invalid_body`, `too_large`. */
export async function previewText(request: BodyRequest): Promise<Uint8Array> {
  const { text } = await jsonBody(request, 'PreviewText', MAX_TEXT_JSON_BYTES);
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_TEXT_BYTES) throw noteTooLarge('md', MAX_TEXT_BYTES);
  return bytes;
}

/** The most values of a body: each is copied and checked several times, and each wrong one described. No operation needs as many. */
const MAX_VALUES = 2_000;
/** The most bytes outside of texts, and quotes in texts: looking at them takes about 10 ms, and at backslashes less than the parsing. */
const MAX_STEPS = 500_000;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** Characters that begin a value. */
const MARKS = new Set(['[', '{', ','].map((mark) => mark.charCodeAt(0)));

/**
 * Parses a JSON body that may be large because of long texts, such as pictures in base64. Undefined for anything but JSON in
 * UTF-8, and for more values than `maxValues`. They are counted first, because 1 MB of brackets becomes 100 MB of objects.
 */
export function parseMessage(body: Uint8Array, maxValues = MAX_VALUES): unknown {
  return hasMoreValues(body, maxValues) ? undefined : parseJson(body);
}

function hasMoreValues(body: Uint8Array, maxValues: number): boolean {
  let [values, steps] = [0, 0];
  let isText = false;
  for (let at = 0; at !== -1 && at < body.length; at = isText ? body.indexOf(QUOTE, at + 1) : at + 1) {
    const byte = body[at]!;
    if (byte === QUOTE) isText = !isText || isEscaped(body, at);
    else if (MARKS.has(byte)) values += 1;
    steps += 1;
    if (values > maxValues || steps > MAX_STEPS) return true;
  }
  return false;
}

/** Whether a quote in a text is part of it: after an odd number of backslashes. */
function isEscaped(body: Uint8Array, quote: number): boolean {
  let start = quote;
  while (body[start - 1] === BACKSLASH) start -= 1;
  return (quote - start) % 2 === 1;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}
