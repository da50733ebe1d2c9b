import type { Configuration, JWKS, ServerMetadata } from 'openid-client';
import type { Flight } from './flights.ts';
import type { Claims } from './people.ts';

type Client = typeof import('openid-client');

/** How long the documents of a provider are used, in ms. */
const KEPT = 60 * 60 * 1000;
/** How long it may take to answer, in seconds. */
const PATIENCE = 5;
/**
 * The library gets the keys that we keep as if they were of this age, in seconds: from 60 on it asks the provider when a
 * key is missing, up to 300 it does not ask otherwise.
 */
const AGE_OF_KEYS = 120;

export interface ProviderParts {
  /** Its address as the operator gave it. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where it leads back to. */
  readonly redirectUri: string;
  /** A clock in ms that never goes back. */
  readonly now?: () => number;
}

/** What a provider says of itself. */
interface Documents {
  readonly metadata: ServerMetadata;
  /** Its keys, once they have been needed. */
  keys: JWKS | undefined;
}

/** The provider does not answer, or not as one. */
export class ProviderUnavailable extends Error {
  constructor(cause: unknown) {
    super('the provider cannot be used', { cause });
    this.name = 'ProviderUnavailable';
  }
}

/** An OpenID Connect provider. The library is loaded when somebody signs in; nothing is asked before that. */
export class Provider {
  readonly #parts: ProviderParts;
  readonly #now: () => number;
  #documents: Promise<Documents> | undefined;
  #until = 0;

  constructor(parts: ProviderParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /**
   * Where to lead a browser, and what it has to come back with.
   * @throws ProviderUnavailable
   */
  async depart(next: string): Promise<{ readonly url: string; readonly flight: Flight }> {
    const client = await import('openid-client');
    const { metadata } = await this.#known(client);
    const verifier = client.randomPKCECodeVerifier();
    const flight = { state: client.randomState(), nonce: client.randomNonce(), verifier, next };
    const url = client.buildAuthorizationUrl(this.#configuration(client, metadata), {
      redirect_uri: this.#parts.redirectUri,
      scope: 'openid profile email',
      state: flight.state,
      nonce: flight.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, flight };
  }

  /**
   * What the provider says of who comes back: in the id token, whose signature, issuer, audience, times and nonce are
   * checked, and, where that is not enough, at its UserInfo endpoint.
   * @param query with which the browser came back
   * @throws ProviderUnavailable; other errors of the library where something is not as it must be
   */
  async arrive(
    query: string,
    { state, nonce, verifier }: Flight,
    isEnough: (claims: Claims) => boolean,
  ): Promise<readonly Claims[]> {
    const client = await import('openid-client');
    const documents = await this.#known(client);
    const configuration = this.#configuration(client, documents.metadata);
    client.enableNonRepudiationChecks(configuration);
    if (documents.keys !== undefined)
      client.setJwksCache(configuration, {
        jwks: documents.keys,
        uat: Math.floor(Date.now() / 1000) - AGE_OF_KEYS,
      });
    try {
      const tokens = await client.authorizationCodeGrant(
        configuration,
        new URL(`${this.#parts.redirectUri}?${query}`),
        { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
      );
      const claims = tokens.claims()!;
      if (isEnough(claims) || documents.metadata.userinfo_endpoint === undefined) return [claims];
      return [claims, await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)];
    } catch (cause) {
      throw isOutage(cause) ? new ProviderUnavailable(cause) : cause;
    } finally {
      documents.keys = client.getJwksCache(configuration)?.jwks ?? documents.keys;
    }
  }

  /** What the provider says of itself, which all who sign in at once ask for once. */
  #known(client: Client): Promise<Documents> {
    if (this.#documents !== undefined && this.#now() < this.#until) return this.#documents;
    const documents = this.#fetch(client);
    this.#documents = documents;
    this.#until = Number.POSITIVE_INFINITY;
    documents.then(
      () => {
        this.#until = this.#now() + KEPT;
      },
      () => {
        this.#documents = undefined;
      },
    );
    return documents;
  }

  async #fetch(client: Client): Promise<Documents> {
    const { issuer, clientId } = this.#parts;
    try {
      const url = new URL(`${withoutSlash(issuer)}/.well-known/openid-configuration`);
      const execute = this.#isPlain ? [client.allowInsecureRequests] : [];
      const found = await client.discovery(url, clientId, undefined, undefined, {
        timeout: PATIENCE,
        execute,
      });
      const metadata = found.serverMetadata();
      if (withoutSlash(metadata.issuer) !== withoutSlash(issuer))
        throw new Error('its documents are those of another issuer');
      return { metadata, keys: undefined };
    } catch (cause) {
      throw new ProviderUnavailable(cause);
    }
  }

  /** The settings take http for a loopback address only. */
  get #isPlain(): boolean {
    return this.#parts.issuer.startsWith('http:');
  }

  #configuration(client: Client, metadata: ServerMetadata): Configuration {
    const { clientId, clientSecret } = this.#parts;
    // Providers that take both decode what is in `Authorization: Basic` in different ways.
    const takesPost = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post');
    const authentication = takesPost ? client.ClientSecretPost : client.ClientSecretBasic;
    const made = new client.Configuration(metadata, clientId, undefined, authentication(clientSecret));
    made.timeout = PATIENCE;
    if (this.#isPlain) client.allowInsecureRequests(made);
    return made;
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}

/** Whether the provider is to blame, not what it was asked. */
function isOutage(error: unknown): boolean {
  const { name, code, status, cause } = error as { [member: string]: unknown };
  const answered = cause instanceof Response ? cause.status : status;
  // What `fetch` throws where there is no answer.
  const isUnanswered = name === 'TypeError' && code === undefined;
  return isUnanswered || code === 'OAUTH_TIMEOUT' || (typeof answered === 'number' && answered >= 500);
}
