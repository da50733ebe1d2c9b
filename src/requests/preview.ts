import { MAX_TEXT_BYTES } from '../config.ts';
import { Refusal } from '../refusals.ts';
import { type JsonRequest, jsonBody } from './json-body.ts';

/** JSON writes one byte in up to six. */
const MAX_BODY_BYTES = 6 * MAX_TEXT_BYTES + 1024;

/**
 * The markdown to be shown as a note of it would be, in UTF-8.
 * @throws Refusal `invalid_body`, `too_large`
 */
export async function previewText(request: JsonRequest): Promise<Uint8Array> {
  const { text } = await jsonBody(request, 'PreviewText', MAX_BODY_BYTES);
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_TEXT_BYTES)
    throw new Refusal('too_large', `A text may have at most ${MAX_TEXT_BYTES} bytes.`);
  return bytes;
}
