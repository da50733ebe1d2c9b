import { createHash, randomBytes } from 'node:crypto';
import { type CryptoKey, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Person } from '../access/cookies.ts';
import { keyFor } from '../signed.ts';
import type { TokenSeries } from '../storage/storage.ts';
import { type AuthorizationRequest, type Issuer, isOwnResource, resourceOf } from './authorization.ts';
import { type Client, parseMetadata } from './clients.ts';
import { OAuthError } from './oauth-error.ts';

/** A code verifier (RFC 7636 §4.1). */
const VERIFIER = /^[\w.~-]{43,128}$/;
const CODE_MS = 5 * 60_000;
const ACCESS_SECONDS = 60 * 60;
const DAY_MS = 24 * 60 * 60_000;
/** How long one consent is valid, if given with the password or by a person. */
const FAMILY_DAYS = { password: 30, person: 7 };

interface Consent extends Pick<AuthorizationRequest, 'client' | 'redirectUri' | 'challenge'> {
  /** Undefined if the instance password was entered instead of a sign-in. */
  readonly person: Person | undefined;
}

/** The tokens of one consent: the code has place 0, each refresh token the next one. */
interface Family {
  readonly series: string;
  readonly place: number;
  /** When its refresh tokens expire, ms since the epoch. */
  readonly until: number;
  /** Digest of the client's id. */
  readonly client: string;
  readonly person?: Person | undefined;
}

/**
 * The OAuth server of a locked instance: clients, and codes and tokens that are each bound to a client and to this
 * instance. Loaded when it is first needed, because few instances have assistants.
 */
export class OAuth {
  readonly #tokens: SignedTokens;
  readonly #series: TokenSeries;
  readonly #admits: (person: Person) => boolean;

  /** @param admits whether a person may still use the instance */
  constructor(parts: SignedTokensParts, series: TokenSeries, admits: (person: Person) => boolean) {
    this.#tokens = new SignedTokens(parts);
    this.#series = series;
    this.#admits = admits;
  }

  /**
   * Registers a client by its metadata (RFC 7591 §2).
   * @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata`
   */
  async register(metadata: unknown): Promise<Client> {
    const client = parseMetadata(metadata);
    return { id: await this.#tokens.sign('client', { ...client }), ...client };
  }

  /** The client with that id. */
  async client(id: string): Promise<Client | undefined> {
    const claims = await this.#tokens.verify('client', id);
    if (claims === undefined || claims === 'expired') return undefined;
    const { name, redirectUris } = claims as unknown as Client;
    return { id, name, redirectUris };
  }

  /** The authorization code for a client's first tokens. */
  createCode({ client, redirectUri, challenge, person }: Consent, { base, now }: Issuer): Promise<string> {
    const days = person === undefined ? FAMILY_DAYS.password : FAMILY_DAYS.person;
    const family: Family = {
      series: randomBytes(16).toString('base64url'),
      place: 0,
      until: now + days * DAY_MS,
      client: digestOf(client.id),
      person,
    };
    const bound = boundTo(redirectUri, challenge);
    return this.#tokens.sign('code', { ...claimsOf(family, base), bound }, now + CODE_MS);
  }

  /** Answers a token request (RFC 6749 §4.1.3 and §6). Throws OAuthError; Refusal `store_unavailable`. */
  async answerTokenRequest(parameters: URLSearchParams, issuer: Issuer) {
    const required = (name: string): string => {
      const values = parameters.getAll(name);
      if (values.length === 1 && values[0] !== '') return values[0]!;
      throw new OAuthError('invalid_request', `There must be one ${name}.`);
    };
    const type = required('grant_type');
    const client = await this.client(required('client_id'));
    if (client === undefined) throw new OAuthError('invalid_client', 'This client is not registered here.');
    if (parameters.getAll('resource').length > 1)
      throw new OAuthError('invalid_target', 'There is more than one resource.');
    if (!isOwnResource(parameters, issuer.base))
      throw new OAuthError('invalid_target', `resource must be ${resourceOf(issuer.base)}.`);
    if (type === 'refresh_token')
      return this.#issueTokens(
        await this.#verify('refresh', required('refresh_token'), client, issuer),
        issuer,
      );
    if (type !== 'authorization_code')
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be authorization_code or refresh_token.',
      );
    const verifier = required('code_verifier');
    if (!VERIFIER.test(verifier))
      throw invalidGrant(
        "The code_verifier must be 43 to 128 characters of A-Z, a-z, 0-9, '-', '.', '_' and '~'.",
      );
    const code = required('code');
    return this.exchangeCode(code, { client, redirectUri: required('redirect_uri'), verifier }, issuer);
  }

  /** @throws OAuthError `invalid_grant`; Refusal `store_unavailable` */
  async exchangeCode(
    code: string,
    { client, redirectUri, verifier }: { client: Client; redirectUri: string; verifier: string },
    issuer: Issuer,
  ) {
    const family = await this.#verify('code', code, client, issuer);
    if (family.bound !== boundTo(redirectUri, digestOf(verifier)))
      throw invalidGrant('The redirect_uri or the code_verifier is not that of the code.');
    return this.#issueTokens(family, issuer);
  }

  /** The sender of an access token for this instance; undefined if it is invalid, or its person may no longer sign in. */
  async verifyAccessToken(
    token: string,
    base: string,
  ): Promise<{ sender: string | undefined } | 'expired' | undefined> {
    const claims = await this.#tokens.verify('access', token);
    if (claims === undefined || claims === 'expired') return claims;
    const person = claims.person as Person | undefined;
    if (claims.aud !== resourceOf(base) || !this.#isAdmitted(person)) return undefined;
    return { sender: person?.sender };
  }

  /** @throws OAuthError `invalid_grant` */
  async #verify(kind: 'code' | 'refresh', token: string, client: Client, { base }: Issuer) {
    const claims = await this.#tokens.verify(kind, token);
    if (claims === 'expired') throw invalidGrant('The token has expired.');
    if (claims === undefined || claims.aud !== resourceOf(base) || claims.client !== digestOf(client.id))
      throw invalidGrant('The token is not valid here, or not for this client.');
    const family = claims as unknown as Family & { readonly bound?: string };
    if (!this.#isAdmitted(family.person)) throw invalidGrant('The user may no longer sign in.');
    return family;
  }

  #isAdmitted(person: Person | undefined): boolean {
    return person === undefined || this.#admits(person);
  }

  /** Uses up a token that passed all checks (RFC 6749 §5.1). A token used before ends its family. */
  async #issueTokens({ series, place, until, client, person }: Family, { base, now }: Issuer) {
    if (!(await this.#series.useToken(series, place, until)))
      throw invalidGrant('The token was used before; all tokens of this consent are revoked.');
    const claims = claimsOf({ series, place: place + 1, until, client, person }, base);
    const [access, refresh] = await Promise.all([
      this.#tokens.sign('access', { aud: claims.aud, iss: claims.iss, person }, now + ACCESS_SECONDS * 1000),
      this.#tokens.sign('refresh', claims, until),
    ]);
    return { access_token: access, token_type: 'Bearer', expires_in: ACCESS_SECONDS, refresh_token: refresh };
  }
}

function claimsOf(family: Family, base: string): JWTPayload & { aud: string; iss: string } {
  return { ...family, iss: base, aud: resourceOf(base) };
}

function boundTo(redirectUri: string, challenge: string): string {
  return digestOf(JSON.stringify([redirectUri, challenge]));
}

/** A short digest of a long text, such as a client id. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function invalidGrant(message: string): OAuthError {
  return new OAuthError('invalid_grant', message);
}

/** Purpose of a token; none is accepted for another. */
type TokenKind = 'client' | 'code' | 'access' | 'refresh';

interface SignedTokensParts {
  readonly secret: Uint8Array;
  /** A change of any of these secrets voids all tokens, but no client id, because ids grant nothing. */
  readonly voidedBy: readonly string[];
}

const ALGORITHM = 'HS256';

/** Signed tokens that only we read, valid in every container (JWT, RFC 7519). */
export class SignedTokens {
  readonly #keys: Readonly<Record<TokenKind, Promise<CryptoKey>>>;

  constructor({ secret, voidedBy }: SignedTokensParts) {
    const key = importKey(keyFor('oauth', secret, voidedBy));
    this.#keys = {
      client: importKey(keyFor('oauth client', secret)),
      code: key,
      access: key,
      refresh: key,
    };
  }

  /** @param until when it ends, ms since the epoch; undefined for never */
  async sign(kind: TokenKind, claims: JWTPayload, until?: number): Promise<string> {
    const token = new SignJWT(claims).setProtectedHeader({ alg: ALGORITHM, typ: kind });
    if (until !== undefined) token.setExpirationTime(Math.floor(until / 1000));
    return token.sign(await this.#keys[kind]);
  }

  /** The claims of a token of that kind; undefined for anything else. */
  async verify(kind: TokenKind, token: string): Promise<JWTPayload | 'expired' | undefined> {
    if (!isCanonical(token)) return undefined;
    try {
      const options = { algorithms: [ALGORITHM], typ: kind };
      return (await jwtVerify(token, await this.#keys[kind], options)).payload;
    } catch (cause) {
      if (cause instanceof errors.JWTExpired) return 'expired';
      if (cause instanceof errors.JOSEError) return undefined;
      throw cause;
    }
  }
}

/** Imported once, because jose would import bytes for each token, which takes as long as the rest. */
function importKey(key: Uint8Array): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return crypto.subtle.importKey('raw', new Uint8Array(key), algorithm, false, ['sign', 'verify']);
}

/** Whether the signature is canonical base64url. Decoders ignore unused bits, so a changed text would pass as the same token. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}
