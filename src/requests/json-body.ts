import type { z } from 'zod';
import type { JsonBodies } from '../ingest/json-bodies.ts';
import { Refusal } from '../refusals.ts';

/** Largest JSON body, bytes. */
export const MAX_JSON_BYTES = 8 * 1024;

/** A request that brings JSON. */
export interface JsonRequest {
  body(limit: number): Promise<Uint8Array>;
}

/** What a member must be, by the name that the validator has for it. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};

/**
 * The JSON value a request brings, in the shape of that name; members it does not know are ignored.
 * @throws Refusal `too_large`; `invalid_body` with the first thing that is wrong
 */
export async function jsonBody<N extends keyof JsonBodies>(
  request: JsonRequest,
  name: N,
  maxBytes = MAX_JSON_BYTES,
): Promise<JsonBodies[N]> {
  const value = parse(await request.body(maxBytes));
  const { JSON_BODIES } = await import('../ingest/json-bodies.ts');
  const result = (JSON_BODIES[name] as unknown as z.ZodType<JsonBodies[N]>).safeParse(value);
  if (result.success) return result.data;
  throw new Refusal('invalid_body', `${sentenceOf(result.error.issues[0]!)}.`);
}

/** What a member must be, in our own words, because the validator's may change with its version. */
export function kindOf(issue: z.core.$ZodIssue): string {
  const expected = issue.code === 'invalid_type' ? KINDS[issue.expected] : undefined;
  return expected ?? 'another value';
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  if (issue.path.length === 0) return `The body must be ${kindOf(issue)} in JSON`;
  return `The member "${issue.path.join('.')}" of the body must be ${kindOf(issue)}`;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new Refusal('invalid_body', 'The body is not JSON in UTF-8.', { cause });
  }
}
