import { cutAt, shownOneLine } from '../feeds/text.ts';

/** What a provider says of a person (OpenID Connect Core §5.1). */
export type Claims = Readonly<Record<string, unknown>>;

const SENDER_LENGTH = 100;
/** Longest e-mail address (RFC 5321 §4.5.3.1). */
const EMAIL_LENGTH = 320;

/**
 * Whether somebody with this verified address may use the instance; only `*` lets in who has none, which is empty.
 * @param allow addresses, `@domain` and `*`, in small letters
 */
export function isAllowed(allow: readonly string[], email: string): boolean {
  if (allow.includes('*')) return true;
  const own = inSmallLetters(email);
  return own !== '' && (allow.includes(own) || allow.includes(own.slice(own.lastIndexOf('@'))));
}

/** Of ASCII alone: other letters have small ones that look like those of somebody else's address (such as the Kelvin sign). */
export function inSmallLetters(email: string): string {
  return email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * The address of a person, if the provider says that it is verified; else empty.
 * @param sources what the provider said, of which the first with an address counts
 */
export function verifiedEmail(sources: readonly Claims[]): string {
  const { email, email_verified } = sources.find((claims) => typeof claims.email === 'string') ?? {};
  const isUsable = email_verified === true && typeof email === 'string' && email.length <= EMAIL_LENGTH;
  return isUsable && /^[^\s@]+@[^\s@]+$/.test(email) ? email : '';
}

/** The name under which a person posts: the first of these claims that is a text, as one line of at most 100 characters. */
export function senderOf(sources: readonly Claims[], names: readonly string[]): string | undefined {
  for (const name of names)
    for (const { [name]: value } of sources) {
      const line = typeof value === 'string' ? lineOf(value) : '';
      if (line !== '') return line;
    }
  return undefined;
}

function lineOf(text: string): string {
  const line = shownOneLine(text.toWellFormed()).replace(/\s+/g, ' ').trim();
  return cutAt(line, SENDER_LENGTH).trimEnd();
}
