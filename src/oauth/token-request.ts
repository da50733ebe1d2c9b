import { refuseOtherResource } from './authorization.ts';
import type { Clients } from './clients.ts';
import type { Grants, TokenAnswer } from './grants.ts';
import type { Issuer } from './issuer.ts';
import { OAuthError } from './oauth-error.ts';

/** A secret of a client for one try (RFC 7636 §4.1). */
const VERIFIER = /^[\w.~-]{43,128}$/;

/**
 * Answers a request for tokens (RFC 6749 §4.1.3 and §6).
 * @throws OAuthError; Refusal `store_unavailable`
 */
export async function answerTokenRequest(
  parameters: URLSearchParams,
  { clients, grants }: { readonly clients: Clients; readonly grants: Grants },
  issuer: Issuer,
): Promise<TokenAnswer> {
  const required = (name: string): string => {
    const values = parameters.getAll(name);
    if (values.length === 1 && values[0] !== '') return values[0]!;
    throw new OAuthError('invalid_request', `There must be one ${name}.`);
  };
  const type = required('grant_type');
  const client = await clients.known(required('client_id'));
  if (client === undefined) throw new OAuthError('invalid_client', 'This client is not registered here.');
  if (parameters.getAll('resource').length > 1)
    throw new OAuthError('invalid_target', 'There may be one resource.');
  refuseOtherResource(parameters, issuer.base);
  if (type === 'refresh_token') return grants.byRefreshToken(required('refresh_token'), client, issuer);
  if (type !== 'authorization_code')
    throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.');
  const verifier = required('code_verifier');
  if (!VERIFIER.test(verifier))
    throw new OAuthError('invalid_grant', 'The code_verifier is not 43 to 128 of its characters.');
  return grants.byCode(required('code'), { client, redirectUri: required('redirect_uri'), verifier }, issuer);
}
