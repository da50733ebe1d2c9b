import { oneLine } from '../feeds/text.ts';
import { Refusal } from '../refusals.ts';
import { OAuthError } from './oauth-error.ts';

const MAX_URI_LENGTH = 512;
/** The client's own machine, where http is safe (RFC 8252 §7.3). */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
/** The policy of the consent page names the host, so no character of it may mean something there. */
const HOST = /^(?:[a-z\d.-]+|\[[\da-f:.]+\])$/;
const MAX_REDIRECT_URIS = 5;
const NAME_LENGTH = 100;

/** A program that asks for access. It is not stored: its id is its signed registration. */
export interface Client {
  readonly id: string;
  /** The name that it claims, unverified; may be empty. */
  readonly name: string;
  readonly redirectUris: readonly string[];
}

/**
 * The name and the redirect URIs in the metadata of a client (RFC 7591 §2).
 * @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata`
 */
export function parseMetadata(metadata: unknown): Omit<Client, 'id'> {
  if (typeof metadata !== 'object' || metadata === null)
    throw new OAuthError('invalid_client_metadata', 'The body must be a JSON object.');
  const { redirect_uris: redirectUris, client_name: name = '' }: Record<string, unknown> = { ...metadata };
  if (!areRedirectUris(redirectUris))
    throw new OAuthError(
      'invalid_redirect_uri',
      `redirect_uris must be 1 to ${MAX_REDIRECT_URIS} addresses of at most 512 characters with https, or with http ` +
        'on localhost, 127.0.0.1 or [::1], without a user and a fragment; a host is of letters, digits, "." and "-", or ' +
        'an IP address.',
    );
  return { name: nameOf(name), redirectUris };
}

function areRedirectUris(value: unknown): value is string[] {
  const isList = Array.isArray(value) && value.length >= 1 && value.length <= MAX_REDIRECT_URIS;
  return isList && value.every((uri) => typeof uri === 'string' && isRedirectUri(uri));
}

function nameOf(value: unknown): string {
  const rule = `client_name must be one line of at most ${NAME_LENGTH} characters.`;
  if (typeof value !== 'string') throw new OAuthError('invalid_client_metadata', rule);
  try {
    return oneLine('client_name', value, NAME_LENGTH);
  } catch (cause) {
    if (cause instanceof Refusal) throw new OAuthError('invalid_client_metadata', rule);
    throw cause;
  }
}

/** Whether a client may register this redirect URI (contract §11). */
function isRedirectUri(text: string): boolean {
  // The URL parser drops some characters and takes a backslash for a slash.
  if (text.length > MAX_URI_LENGTH || !/^https?:\/\/[\x21-\x7e]+$/.test(text) || /[#\\]/.test(text))
    return false;
  if (!URL.canParse(text) || /^[^/?]*@/.test(text.slice(text.indexOf('//') + 2))) return false;
  const { hostname } = new URL(text);
  return text.startsWith('https:') ? HOST.test(hostname) : LOOPBACK.has(hostname);
}

/** Whether a URI is registered; on the client's own machine its port may differ. */
export function isRegistered(text: string, registered: readonly string[]): boolean {
  return isRedirectUri(text) && registered.some((one) => one === text || isSameButPort(one, text));
}

function isSameButPort(one: string, other: string): boolean {
  const [first, second] = [new URL(one), new URL(other)];
  if (first.protocol !== 'http:' || !LOOPBACK.has(first.hostname)) return false;
  first.port = second.port = '';
  return first.href === second.href;
}
