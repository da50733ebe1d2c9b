import { cutAt, shownOneLine } from '../feeds/text.ts';

/** A provider's claims about a person (OpenID Connect Core §5.1). */
export type Claims = Readonly<Record<string, unknown>>;

const SENDER_LENGTH = 100;
/** Longest e-mail address (RFC 5321 §4.5.3.1). */
const EMAIL_LENGTH = 320;

/**
 * Whether a person with this verified address may use the instance. Only `*` allows an empty one.
 * @param allow addresses, `@domain` and `*`, in lower case
 */
export function isAllowed(allow: readonly string[], email: string): boolean {
  if (allow.includes('*')) return true;
  // Only ASCII, because other letters (such as the Kelvin sign) become letters of another person's address.
  const own = email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return own !== '' && (allow.includes(own) || allow.includes(own.slice(own.lastIndexOf('@'))));
}

/** The address in the first source that has one, if the provider verified it; else empty. */
export function verifiedEmail(sources: readonly Claims[]): string {
  const { email, email_verified } = sources.find((claims) => typeof claims.email === 'string') ?? {};
  const isUsable = email_verified === true && typeof email === 'string' && email.length <= EMAIL_LENGTH;
  return isUsable && /^[^\s@]+@[^\s@]+$/.test(email) ? email : '';
}

/** A person's name as sender: the first of these claims that is a text, as one line of at most 100 characters. */
export function senderOf(sources: readonly Claims[], names: readonly string[]): string | undefined {
  for (const name of names)
    for (const { [name]: value } of sources) {
      const line = typeof value === 'string' ? oneLine(value) : '';
      if (line !== '') return line;
    }
  return undefined;
}

function oneLine(text: string): string {
  const line = shownOneLine(text.toWellFormed()).replace(/\s+/g, ' ').trim();
  return cutAt(line, SENDER_LENGTH).trimEnd();
}
