import type { Configuration, JWKS, ServerMetadata } from 'openid-client';

type Client = typeof import('openid-client');

/** A provider's claims about a person (OpenID Connect Core §5.1). */
export type Claims = Readonly<Record<string, unknown>>;

/** A sign-in that has begun: what the provider must send back, and where the browser goes then. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier (RFC 7636 §4.1). */
  readonly verifier: string;
  /** A path of this instance, of printable ASCII. */
  readonly next: string;
}

/** How long the metadata of a provider is cached. */
const METADATA_MS = 60 * 60 * 1000;
const TIMEOUT_SECONDS = 5;
/** Age that is reported for cached keys: above 60 s the library fetches them again for an unknown key, below 300 s only then. */
const KEYS_AGE_SECONDS = 120;

interface ProviderParts {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  /** A monotonic clock, ms. */
  readonly now?: () => number;
}

interface Discovered {
  readonly metadata: ServerMetadata;
  /** The provider's keys, once they were needed. */
  keys: JWKS | undefined;
}

/** The provider does not answer, or not as an OpenID Connect provider. */
export class ProviderUnavailable extends Error {
  constructor(cause: unknown) {
    super('the provider cannot be used', { cause });
    this.name = 'ProviderUnavailable';
  }
}

/** What a sign-in needs of the metadata (OpenID Connect Discovery §3). */
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;

/** An OpenID Connect provider. */
export class Provider {
  readonly #parts: ProviderParts;
  readonly #now: () => number;
  #discovered: Promise<Discovered> | undefined;
  #until = 0;

  constructor(parts: ProviderParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /** Loads library and metadata, so that a wrong setting shows before somebody signs in. Throws ProviderUnavailable. */
  async load(): Promise<void> {
    await this.#discover(await import('openid-client'));
  }

  /** The provider's URL for the browser, and what the provider must send back. Throws ProviderUnavailable. */
  async start(next: string): Promise<{ readonly url: string; readonly pending: PendingSignIn }> {
    const client = await import('openid-client');
    const { metadata } = await this.#discover(client);
    const verifier = client.randomPKCECodeVerifier();
    const pending = { state: client.randomState(), nonce: client.randomNonce(), verifier, next };
    const url = client.buildAuthorizationUrl(this.#configuration(client, metadata), {
      redirect_uri: this.#parts.redirectUri,
      scope: 'openid profile email',
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, pending };
  }

  /**
   * The claims about the person who comes back: from the id token, whose signature, issuer, audience, times and nonce are
   * checked, and also from the UserInfo endpoint if claims are missing.
   * @param query of the callback
   * @throws ProviderUnavailable; other errors of the library if a check fails
   */
  async finish(
    query: string,
    { state, nonce, verifier }: PendingSignIn,
    hasNeededClaims: (claims: Claims) => boolean,
  ): Promise<readonly Claims[]> {
    const client = await import('openid-client');
    const discovered = await this.#discover(client);
    const configuration = this.#configuration(client, discovered.metadata);
    client.enableNonRepudiationChecks(configuration);
    if (discovered.keys !== undefined)
      client.setJwksCache(configuration, {
        jwks: discovered.keys,
        uat: Math.floor(Date.now() / 1000) - KEYS_AGE_SECONDS,
      });
    try {
      const tokens = await client.authorizationCodeGrant(
        configuration,
        new URL(`${this.#parts.redirectUri}?${query}`),
        { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
      );
      const claims = tokens.claims()!;
      // OpenID Connect Core §3.1.3.7; the library checks it only if there are several audiences.
      if (claims.azp !== undefined && claims.azp !== this.#parts.clientId)
        throw new Error('the id token was issued to another client');
      if (hasNeededClaims(claims) || discovered.metadata.userinfo_endpoint === undefined) return [claims];
      return [claims, await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)];
    } catch (cause) {
      throw isOutage(cause) ? new ProviderUnavailable(cause) : cause;
    } finally {
      discovered.keys = client.getJwksCache(configuration)?.jwks ?? discovered.keys;
    }
  }

  /** The provider's metadata, cached; sign-ins at the same time share one request. */
  #discover(client: Client): Promise<Discovered> {
    if (this.#discovered === undefined || this.#now() >= this.#until) {
      this.#until = Number.POSITIVE_INFINITY;
      this.#discovered = this.#fetch(client);
    }
    return this.#discovered;
  }

  async #fetch(client: Client): Promise<Discovered> {
    const { issuer, clientId } = this.#parts;
    try {
      const url = new URL(`${withoutSlash(issuer)}/.well-known/openid-configuration`);
      const execute = this.#isPlain ? [client.allowInsecureRequests] : [];
      const found = await client.discovery(url, clientId, undefined, undefined, {
        timeout: TIMEOUT_SECONDS,
        execute,
      });
      const metadata = found.serverMetadata();
      if (withoutSlash(metadata.issuer) !== withoutSlash(issuer))
        throw new Error('its documents are those of another issuer');
      const missing = ENDPOINTS.filter((name) => typeof metadata[name] !== 'string');
      if (missing.length > 0) throw new Error(`its documents lack ${missing.join(', ')}`);
      this.#until = this.#now() + METADATA_MS;
      return { metadata, keys: undefined };
    } catch (cause) {
      this.#until = 0;
      throw new ProviderUnavailable(cause);
    }
  }

  /** The settings allow http for a loopback address only. */
  get #isPlain(): boolean {
    return this.#parts.issuer.startsWith('http:');
  }

  #configuration(client: Client, metadata: ServerMetadata): Configuration {
    const { clientId, clientSecret } = this.#parts;
    // Preferred, because providers decode `Authorization: Basic` in different ways.
    const takesPost = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post');
    const authentication = takesPost ? client.ClientSecretPost : client.ClientSecretBasic;
    const made = new client.Configuration(metadata, clientId, undefined, authentication(clientSecret));
    made.timeout = TIMEOUT_SECONDS;
    if (this.#isPlain) client.allowInsecureRequests(made);
    return made;
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}

/** Whether the provider failed, not the request. */
function isOutage(error: unknown): boolean {
  const { name, code, status, cause } = error as { [member: string]: unknown };
  const answered = cause instanceof Response ? cause.status : status;
  // `fetch` throws it if there is no answer.
  const isUnanswered = name === 'TypeError' && code === undefined;
  return isUnanswered || code === 'OAUTH_TIMEOUT' || (typeof answered === 'number' && answered >= 500);
}
