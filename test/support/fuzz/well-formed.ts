import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Refusal, type RefusalCode } from '../../../src/refusals.ts';
import type { RawResponse } from '../raw-connection.ts';
import type { FuzzRequest } from './requests.ts';
import { FEEDS, LOCKED_FEEDS } from './values.ts';
import { isWhole } from './wire.ts';

/** What the binding says by itself to bytes that are no request. */
const BINDING_STATUS = [400, 413, 431, 505];
/** Fields that an answer of a status must have. */
const NEEDED: Record<number, string> = {
  201: 'location',
  401: 'www-authenticate',
  405: 'allow',
  429: 'retry-after',
  503: 'retry-after',
};

/** What is wrong with an answer, in words; undefined when nothing is. */
export function faultOf(request: FuzzRequest, response: RawResponse): string | undefined {
  const { status, headers, body } = response;
  if (!isWhole(request) && BINDING_STATUS.includes(status) && headers['content-type'] === undefined)
    return undefined;
  if (!(status >= 200 && status < 500) && status !== 503) return 'a status that the service never gives';
  const needed = NEEDED[status];
  // A client that is registered is at no address.
  const isClient = status === 201 && request.path.startsWith('/oauth/');
  if (needed !== undefined && !isClient && headers[needed] === undefined) return `no ${needed}`;
  // Of a request that is not whole one cannot tell whether the answer is to HEAD.
  if (request.method === 'HEAD' || status === 204 || status === 304 || !isWhole(request)) return undefined;
  if (status >= 400) return refusalFault(status, headers['content-type'], body.toString());
  if (status === 206) return undefined;
  const text = decoded(body, headers['content-encoding']);
  return text === undefined ? 'a body of another coding' : contentFault(headers['content-type'] ?? '', text);
}

function refusalFault(status: number, type: string | undefined, text: string): string | undefined {
  // To forms, and to clients that ask for it.
  if (type?.startsWith('text/html')) return /<\/html>\s*$/.test(text) ? undefined : 'half a page';
  if (type !== 'application/json') return 'a refusal that is not JSON';
  const { error, code, error_description: described, jsonrpc } = parsed(text) ?? {};
  // What assistants ask for is refused in the words of their protocols.
  if (jsonrpc === '2.0' && typeof error === 'object') return undefined;
  if (typeof error === 'string' && typeof described === 'string') return undefined;
  if (typeof error !== 'string' || error === '') return 'a refusal without a sentence';
  const isRemovedPicture = code === 'blocked' && status === 451;
  if (new Refusal(code as RefusalCode, '').status !== status && !isRemovedPicture)
    return 'a code of another status';
  if (status === 503 && code !== 'busy') return 'another failure than busy';
  if ([...FEEDS, ...LOCKED_FEEDS].some((name) => error.includes(name))) return 'a feed name in a sentence';
  return undefined;
}

function contentFault(type: string, text: string): string | undefined {
  if (/^application\/(feed\+)?json/.test(type) && parsed(text) === undefined)
    return 'a body that is not JSON';
  if (/^application\/rss\+xml/.test(type) && !/^<\?xml[\s\S]*<\/rss>\s*$/.test(text)) return 'half a feed';
  return undefined;
}

/** The text of a body; undefined where it is not encoded as it says. */
function decoded(body: Buffer, coding: string | undefined): string | undefined {
  try {
    if (coding === 'gzip') return gunzipSync(body).toString();
    if (coding === 'br') return brotliDecompressSync(body).toString();
    return body.toString();
  } catch {
    return undefined;
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
