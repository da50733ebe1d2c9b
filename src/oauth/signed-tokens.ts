import { type CryptoKey, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { keyFor } from '../signed.ts';

/** Purpose of a token; none is accepted for another. */
type TokenKind = 'client' | 'code' | 'access' | 'refresh';

export interface SignedTokensParts {
  readonly secret: Uint8Array;
  /** Secrets that lock the instance. A change voids all tokens, but not client ids, because they grant nothing. */
  readonly locks: readonly string[];
}

const ALGORITHM = 'HS256';

/** Signed tokens that only we read, valid in every container (JWT, RFC 7519). */
export class SignedTokens {
  readonly #keys: Readonly<Record<TokenKind, Promise<CryptoKey>>>;

  constructor({ secret, locks }: SignedTokensParts) {
    const key = importKey(keyFor('oauth', secret, locks));
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
