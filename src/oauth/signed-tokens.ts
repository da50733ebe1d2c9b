import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { keyFor } from '../access/signed.ts';

/** What a token is for; none is taken for another. */
export type TokenKind = 'client' | 'code' | 'access' | 'refresh';

export interface SignedTokensParts {
  readonly secret: Uint8Array;
  /** What locks the instance: a change of any of it voids all tokens but the ids of clients, which open nothing. */
  readonly locks: readonly string[];
  /** Ms since the epoch. */
  readonly now?: () => number;
}

const ALGORITHM = 'HS256';

/** Tokens that only we read, signed so that every container knows them (JWT, RFC 7519). */
export class SignedTokens {
  readonly #clientKey: Uint8Array;
  readonly #key: Uint8Array;
  readonly #now: () => number;

  constructor({ secret, locks, now = Date.now }: SignedTokensParts) {
    this.#clientKey = keyFor('oauth client', secret);
    this.#key = keyFor('oauth', secret, locks);
    this.#now = now;
  }

  /** @param until when it ends, ms since the epoch; undefined for never */
  sign(kind: TokenKind, claims: JWTPayload, until?: number): Promise<string> {
    const token = new SignJWT(claims).setProtectedHeader({ alg: ALGORITHM, typ: kind });
    if (until !== undefined) token.setExpirationTime(Math.floor(until / 1000));
    return token.sign(this.#keyOf(kind));
  }

  /** What a token of that kind says; undefined for anything else. */
  async verify(kind: TokenKind, token: string): Promise<JWTPayload | 'expired' | undefined> {
    if (!isCanonical(token)) return undefined;
    try {
      const currentDate = new Date(this.#now());
      const options = { algorithms: [ALGORITHM], typ: kind, currentDate };
      return (await jwtVerify(token, this.#keyOf(kind), options)).payload;
    } catch (cause) {
      if (cause instanceof errors.JWTExpired) return 'expired';
      if (cause instanceof errors.JOSEError) return undefined;
      throw cause;
    }
  }

  #keyOf(kind: TokenKind): Uint8Array {
    return kind === 'client' ? this.#clientKey : this.#key;
  }
}

/** The last character of a signature has bits that count for nothing: with others in them it would be another text. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}
