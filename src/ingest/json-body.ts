import type { z } from 'zod';
import { Refusal } from '../refusals.ts';

/** Largest JSON body, bytes. */
export const MAX_JSON_BYTES = 8 * 1024;

/** A request that brings JSON. */
export interface JsonRequest {
  body(limit: number): Promise<Uint8Array>;
}

/**
 * The JSON value a request brings, in the shape of `schema`; members it does not know are ignored.
 * @throws Refusal `too_large`; `invalid_body` with the first thing that is wrong
 */
export async function jsonBody<T>(request: JsonRequest, schema: z.ZodType<T>): Promise<T> {
  const bytes = await request.body(MAX_JSON_BYTES);
  const result = schema.safeParse(parse(bytes));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new Refusal('invalid_body', `The body${where && ` has a wrong "${where}"`}: ${issue?.message}.`);
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new Refusal('invalid_body', 'The body is not JSON in UTF-8.', { cause });
  }
}
