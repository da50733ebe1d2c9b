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
const MAX_JSON_BYTES = 8 * 1024;
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
  if (value === undefined) throw new Refusal('invalid_body', 'The body is not JSON in UTF-8.');
  if (hasManyValues(value))
    throw new Refusal('invalid_body', `The body may have at most ${MAX_VALUES} values.`);
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
  const kind = (issue.code === 'invalid_type' && KINDS[issue.expected]) || 'another value';
  throw new Refusal('invalid_body', sentence(issue.path.join('.'), kind));
}

/** The markdown of a preview request. Throws a Refusal `invalid_body`, `too_large`. */
export async function previewText(request: BodyRequest): Promise<Uint8Array> {
  const { text } = await jsonBody(request, 'PreviewText', MAX_TEXT_JSON_BYTES);
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_TEXT_BYTES) throw noteTooLarge('md', MAX_TEXT_BYTES);
  return bytes;
}

/**
 * Limit of values in a body that is checked, because each is copied and checked several times, and each wrong one has a
 * description of its own. No operation needs as many.
 */
export const MAX_VALUES = 2_000;

/** Whether a value of JSON consists of more than `MAX_VALUES`. */
export function hasManyValues(json: unknown): boolean {
  const left = [json];
  for (let count = 0; left.length > 0; ) {
    const value = left.pop();
    if (!(value instanceof Object)) continue;
    const members = Object.values(value);
    count += members.length;
    if (count > MAX_VALUES) return true;
    left.push(...members);
  }
  return false;
}

/** Smaller bodies are parsed without counting their values, bytes. */
const SMALL = 64 * 1024;
/** Characters that begin a value. */
const MARKS = ['[', '{', ','].map((mark) => mark.charCodeAt(0));
/** A text of 100 KB may consist of such characters. */
const MAX_MARKS = 150_000;

/**
 * Parses a JSON body that may be large because of long texts, such as pictures in base64; undefined for anything but
 * JSON in UTF-8. Bodies with very many values are refused, because 1 MB of brackets becomes 100 MB of objects.
 */
export function parseMessage(body: Uint8Array): unknown {
  return body.length > SMALL && hasManyMarks(body) ? undefined : parseJson(body);
}

function hasManyMarks(body: Uint8Array): boolean {
  let left = MAX_MARKS;
  for (const mark of MARKS)
    for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + 1)) if (--left < 0) return true;
  return false;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}
