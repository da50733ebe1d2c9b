import { Refusal } from '../refusals.ts';
import { type Client, isRegistered } from './clients.ts';

/** This instance as an OAuth server. */
export interface Issuer {
  /** Its URL, without a trailing slash. */
  readonly base: string;
  /** Ms since the epoch. */
  readonly now: number;
}

/** The audience of tokens: the tools of an instance (RFC 8707). */
export function resourceOf(base: string): string {
  return `${base}/mcp`;
}

/** The known parameters of an authorization request; the consent page sends them again with its form. */
export const AUTHORIZATION_PARAMETERS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'code_challenge',
  'code_challenge_method',
  'state',
  'resource',
] as const;

export interface AuthorizationRequest {
  readonly client: Client;
  readonly redirectUri: string;
  readonly state: string | undefined;
  /** S256 code challenge (RFC 7636). */
  readonly challenge: string;
}

/** S256 makes 43 characters (RFC 7636 §4.2). */
const CHALLENGE = /^[\w-]{43}$/;

/**
 * Checks an authorization request. No fault is sent to the redirect URI, because anybody can register one, and a link to
 * this instance must lead nowhere else before its visitor consents (RFC 9700 §4.11).
 * @throws Refusal `invalid_request`
 */
export async function parseAuthorizationRequest(
  parameters: URLSearchParams,
  oauth: { client(id: string): Promise<Client | undefined> },
  base: string,
): Promise<AuthorizationRequest> {
  const names = [...parameters.keys()];
  if (new Set(names).size < names.length) throw invalid('A parameter is there more than once.');
  const client = await oauth.client(parameters.get('client_id') ?? '');
  if (client === undefined) throw invalid('This program is not registered here. Add the service to it anew.');
  const redirectUri = parameters.get('redirect_uri') ?? '';
  if (!isRegistered(redirectUri, client.redirectUris))
    throw invalid('This program has not registered the address that it wants to return to.');
  if (parameters.get('response_type') !== 'code') throw invalid('response_type must be code.');
  const challenge = parameters.get('code_challenge') ?? '';
  if (parameters.get('code_challenge_method') !== 'S256' || !CHALLENGE.test(challenge))
    throw invalid('There must be a code_challenge, with code_challenge_method=S256.');
  if (!isOwnResource(parameters, base)) throw invalid(`resource must be ${resourceOf(base)}.`);
  return { client, redirectUri, state: parameters.get('state') ?? undefined, challenge };
}

function invalid(sentence: string): Refusal {
  return new Refusal('invalid_request', sentence);
}

/** Whether tokens are for the tools of this instance (RFC 8707), as they are by default. */
export function isOwnResource(parameters: URLSearchParams, base: string): boolean {
  const resource = parameters.get('resource');
  return resource === null || resource === resourceOf(base);
}

/** The redirect URI with an answer for the client (RFC 6749 §4.1.2, RFC 9207). */
export function redirectWith(
  { redirectUri, state }: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
  { base }: Issuer,
  answer: Readonly<Record<string, string>>,
): string {
  const parameters = new URLSearchParams({ ...answer, ...(state !== undefined && { state }), iss: base });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`;
}
