import { Refusal } from '../refusals.ts';
import { type Client, isRegistered } from './clients.ts';
import type { OAuth } from './oauth.ts';
import { OAuthError } from './oauth-error.ts';

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

/** Client and redirect URI; must be valid before any redirect. */
export interface AuthorizationRequest {
  readonly client: Client;
  readonly redirectUri: string;
  readonly state: string | undefined;
}

/** S256 makes 43 characters (RFC 7636 §4.2). */
const CHALLENGE = /^[\w-]{43}$/;

/** @throws Refusal `invalid_request` for an unknown client or redirect URI */
export async function parseAuthorizationRequest(
  parameters: URLSearchParams,
  oauth: OAuth,
): Promise<AuthorizationRequest> {
  const single = (name: string) => (parameters.getAll(name).length === 1 ? parameters.get(name)! : undefined);
  const client = await oauth.client(single('client_id') ?? '');
  const redirectUri = single('redirect_uri');
  if (client === undefined)
    throw new Refusal('invalid_request', 'This program is not registered here. Add the service to it anew.');
  if (redirectUri === undefined || !isRegistered(redirectUri, client.redirectUris))
    throw new Refusal(
      'invalid_request',
      'The address to go back to is none that this program has registered.',
    );
  return { client, redirectUri, state: single('state') };
}

/** Checks the rest of an authorization request, and returns its code challenge. Throws OAuthError for the client. */
export function parseChallenge(parameters: URLSearchParams, base: string): string {
  for (const name of new Set(parameters.keys()))
    if (parameters.getAll(name).length > 1)
      throw new OAuthError('invalid_request', 'A parameter is there more than once.');
  if (parameters.get('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code.');
  const challenge = parameters.get('code_challenge') ?? '';
  if (parameters.get('code_challenge_method') !== 'S256' || !CHALLENGE.test(challenge))
    throw new OAuthError(
      'invalid_request',
      'There must be a code_challenge, with code_challenge_method=S256.',
    );
  refuseOtherResource(parameters, base);
  return challenge;
}

/** @throws OAuthError `invalid_target` unless tokens are for the tools of this instance (RFC 8707) */
export function refuseOtherResource(parameters: URLSearchParams, base: string): void {
  const resource = parameters.get('resource');
  if (resource !== null && resource !== resourceOf(base))
    throw new OAuthError('invalid_target', `resource must be ${resourceOf(base)}.`);
}

/** The redirect URI with an answer for the client (RFC 6749 §4.1.2, RFC 9207). */
export function redirectWith(
  { redirectUri, state }: AuthorizationRequest,
  { base }: Issuer,
  answer: Readonly<Record<string, string>>,
): string {
  const parameters = new URLSearchParams({ ...answer, ...(state !== undefined && { state }), iss: base });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`;
}
