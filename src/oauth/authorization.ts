import { Refusal } from '../refusals.ts';
import type { Client, Clients } from './clients.ts';
import { type Issuer, resourceOf } from './issuer.ts';
import { OAuthError } from './oauth-error.ts';
import { isRegistered } from './redirects.ts';

/** The parameters of a request for consent that mean something here; the page sends them on with its form. */
export const AUTHORIZATION_PARAMETERS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'code_challenge',
  'code_challenge_method',
  'state',
  'resource',
] as const;

/** Who asks, and where the answer goes: what has to be right before anybody is led anywhere. */
export interface Asking {
  readonly client: Client;
  readonly redirectUri: string;
  readonly state: string | undefined;
}

/** S256 makes 43 characters (RFC 7636 §4.2). */
const CHALLENGE = /^[\w-]{43}$/;

/**
 * Who asks for consent.
 * @throws Refusal `invalid_request` for a client or an address that is not known: nobody is led there
 */
export async function askingIn(parameters: URLSearchParams, clients: Clients): Promise<Asking> {
  const [id, redirectUri] = ['client_id', 'redirect_uri'].map((name) => parameters.getAll(name));
  const client = id!.length === 1 ? await clients.known(id![0]!) : undefined;
  if (client === undefined)
    throw new Refusal('invalid_request', 'This program is not registered here. Add the service to it anew.');
  if (redirectUri!.length !== 1 || !isRegistered(redirectUri![0]!, client.redirectUris))
    throw new Refusal(
      'invalid_request',
      'The address to go back to is none that this program has registered.',
    );
  const state = parameters.getAll('state');
  return { client, redirectUri: redirectUri![0]!, state: state.length === 1 ? state[0] : undefined };
}

/**
 * The code challenge of a request for consent, if all of it is right.
 * @throws OAuthError, to be told to the client
 */
export function challengeIn(parameters: URLSearchParams, base: string): string {
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

/**
 * Tokens are for the tools of this instance alone (RFC 8707).
 * @throws OAuthError `invalid_target`
 */
export function refuseOtherResource(parameters: URLSearchParams, base: string): void {
  const resource = parameters.get('resource');
  if (resource !== null && resource !== resourceOf(base))
    throw new OAuthError('invalid_target', `resource must be ${resourceOf(base)}.`);
}

/** The address that takes an answer back to the client (RFC 6749 §4.1.2, RFC 9207). */
export function backTo(
  { redirectUri, state }: Asking,
  { base }: Issuer,
  answer: Readonly<Record<string, string>>,
): string {
  const parameters = new URLSearchParams({ ...answer, ...(state !== undefined && { state }), iss: base });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`;
}
