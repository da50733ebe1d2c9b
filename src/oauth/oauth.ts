import type { TokenSeries } from '../storage/storage.ts';
import { type Issuer, refuseOtherResource } from './authorization.ts';
import { Clients } from './clients.ts';
import { Grants, type TokenAnswer } from './grants.ts';
import { OAuthError } from './oauth-error.ts';
import { SignedTokens, type SignedTokensParts } from './signed-tokens.ts';

/** A code verifier (RFC 7636 §4.1). */
const VERIFIER = /^[\w.~-]{43,128}$/;

/** The OAuth server of a locked instance; loaded when it is first needed, because few instances have assistants. */
export class OAuth {
  readonly clients: Clients;
  readonly grants: Grants;

  /** @param admits whether a person with this address may still use the instance */
  constructor(parts: SignedTokensParts, series: TokenSeries, admits: (email: string) => boolean) {
    const tokens = new SignedTokens(parts);
    this.clients = new Clients(tokens);
    this.grants = new Grants(tokens, series, admits);
  }

  /**
   * Answers a token request (RFC 6749 §4.1.3 and §6).
   * @throws OAuthError; Refusal `store_unavailable`
   */
  async answerTokenRequest(parameters: URLSearchParams, issuer: Issuer): Promise<TokenAnswer> {
    const required = (name: string): string => {
      const values = parameters.getAll(name);
      if (values.length === 1 && values[0] !== '') return values[0]!;
      throw new OAuthError('invalid_request', `There must be one ${name}.`);
    };
    const type = required('grant_type');
    const client = await this.clients.find(required('client_id'));
    if (client === undefined) throw new OAuthError('invalid_client', 'This client is not registered here.');
    if (parameters.getAll('resource').length > 1)
      throw new OAuthError('invalid_target', 'There may be one resource.');
    refuseOtherResource(parameters, issuer.base);
    if (type === 'refresh_token') return this.grants.refresh(required('refresh_token'), client, issuer);
    if (type !== 'authorization_code')
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be authorization_code or refresh_token.',
      );
    const verifier = required('code_verifier');
    if (!VERIFIER.test(verifier))
      throw new OAuthError('invalid_grant', 'The code_verifier is not 43 to 128 of its characters.');
    return this.grants.exchangeCode(
      required('code'),
      { client, redirectUri: required('redirect_uri'), verifier },
      issuer,
    );
  }
}
