import { strongTags } from '../http/conditional.ts';
import type { FeedCondition } from '../ingest/post.ts';
import { Refusal } from '../refusals.ts';
import type { JsonBodies } from '../schemas.ts';
import { type BodyRequest, jsonBody, MAX_JSON_BYTES } from './bodies.ts';
import { refuseLargeBody } from './multipart.ts';

type Source = Pick<BodyRequest, 'header'>;

/**
 * The ETags of an `If-Match`, one of which must be right; undefined for any, if there is none or it is `*`.
 * @throws Refusal `invalid_request`
 */
export function ifMatch(source: Source): readonly string[] | undefined {
  const value = source.header('if-match');
  const tags = value === undefined ? '*' : strongTags(value);
  if (tags === undefined)
    throw new Refusal(
      'invalid_request',
      'If-Match must be * or ETags in double quotes, with commas between.',
    );
  return tags === '*' ? undefined : tags;
}

/**
 * Reads the ETags of an `If-Match`, and the JSON body of the named schema. A `Content-Length` that is too large is refused before the
 * header is looked at (contract §5).
 * @throws Refusal as `ifMatch` and `jsonBody`
 */
export async function conditionalJson<N extends keyof JsonBodies>(
  request: BodyRequest,
  name: N,
): Promise<{ readonly etags: readonly string[] | undefined; readonly changes: JsonBodies[N] }> {
  refuseLargeBody(request, MAX_JSON_BYTES);
  const etags = ifMatch(request);
  return { etags, changes: await jsonBody(request, name) };
}

/**
 * What a post believes of its feed: `If-Match` that it exists and which one it is, `If-None-Match: *` that it does not exist.
 * @throws Refusal `invalid_request`
 */
export function feedCondition(source: Source): FeedCondition | undefined {
  const identities = ifMatch(source);
  const isMatched = source.header('if-match') !== undefined;
  const unmatched = source.header('if-none-match');
  if (unmatched === undefined) return isMatched ? { exists: true, identities } : undefined;
  if (isMatched || unmatched.trim() !== '*')
    throw new Refusal('invalid_request', 'A post takes either If-Match or If-None-Match: *.');
  return { exists: false, identities: undefined };
}
