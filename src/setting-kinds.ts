import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type FeedName, isFeedName } from './feeds/names.ts';
import { oneLine } from './feeds/text.ts';
import { type PublicKeyText, parsePublicKeys } from './licenses/public-keys.ts';
import { type Setting, text } from './setting.ts';

/** An address or a host name to listen on. */
export function host(name: string, fallback: string): Setting<string> {
  const accepts = (value: string) => isIP(value) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/.test(value);
  return text(name, fallback, 'an address or a host name', accepts);
}

/** An absolute URL that others are appended to, kept without its trailing slashes. A wrong one may hold a password. */
export function baseUrl(name: string): Setting<string | undefined> {
  const parse = (value: string) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    const usable =
      url && /^https?:$/.test(url.protocol) && !/[?#]/.test(value) && !url.username && !url.password;
    return usable ? url.href.replace(/\/+$/, '') : undefined;
  };
  const rule = 'an absolute http or https URL without user, query and fragment';
  return { name, fallback: undefined, rule, parse, secret: true };
}

/** The address of an OpenID Connect provider, as it was given; a wrong one may hold a password. */
export function issuer(name: string): Setting<string | undefined> {
  const parse = (value: string) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    const isPlain = url && !/[?#]/.test(value) && !url.username && !url.password;
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
    return isPlain && isSafe ? value : undefined;
  };
  const rule =
    'an https URL without user, query and fragment; http is for localhost and loopback addresses only';
  return { name, fallback: undefined, rule, parse, secret: true };
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Who may sign in: addresses, `@domain` or `*`, separated by commas; in small letters from then on. Of who may, nothing is
 * shown.
 */
export function allowedPeople(name: string): Setting<readonly string[] | undefined> {
  const parse = (value: string) => {
    const entries = listOf(value).map((entry) => entry.toLowerCase());
    const usable = entries.length > 0 && entries.every((entry) => /^(?:\*|[^\s@*;]*@[^\s@*;]+)$/.test(entry));
    return usable ? entries : undefined;
  };
  const rule = 'e-mail addresses, @domain or *, separated by commas';
  return { name, fallback: undefined, rule, parse, secret: true };
}

/** Names of claims of a provider, separated by commas. */
export function claimNames(name: string, fallback: readonly string[]): Setting<readonly string[]> {
  const parse = (value: string) => {
    const names = listOf(value);
    return names.length > 0 && names.every((claim) => /^[\x21-\x7e]{1,100}$/.test(claim)) ? names : undefined;
  };
  return {
    name,
    fallback,
    rule: 'names of claims separated by commas, such as name,email',
    parse,
    secret: false,
  };
}

/**
 * A URL in which each `{word}` of the given ones stands for a value that is known later. May be a `mailto:` one.
 * A wrong one may hold a password.
 */
export function urlTemplate(name: string, words: readonly string[]): Setting<string | undefined> {
  const places = words.map((word) => `{${word}}`);
  const parse = (value: string) => {
    const filled = places.reduce((url, place) => url.replaceAll(place, 'x'), value);
    const usable = !/[{}\s]/.test(filled) && /^(https?:\/\/|mailto:)/i.test(filled) && URL.canParse(filled);
    return usable ? value : undefined;
  };
  const inBraces = places.length > 0 ? `, in which only ${places.join(', ')} may stand in braces` : '';
  const rule = `an absolute http, https or mailto URL${inBraces}`;
  return { name, fallback: undefined, rule, parse, secret: true };
}

/** A text as a feed's title may be. */
export function lineOfText<F extends string | undefined>(
  name: string,
  fallback: F,
  max: number,
): Setting<string | F> {
  const parse = (value: string) => {
    try {
      return oneLine(name, value, max) || undefined;
    } catch {
      return undefined;
    }
  };
  const rule = `one line of at most ${max} characters, without control characters`;
  return { name, fallback, rule, parse, secret: false };
}

/** A folder, absolute from then on; started as root, the service gives it away, so never the root of all. */
export function folder(name: string, fallback: string): Setting<string> {
  const parse = (value: string) => {
    const usable = !value.includes('\0') && resolve(value) !== '/';
    return usable ? resolve(value) : undefined;
  };
  const rule = 'the path of a folder other than /';
  return { name, fallback: resolve(fallback), rule, parse, secret: false };
}

/** A folder that is another one where it is not named; see `folder`. */
export function otherFolder(name: string): Setting<string | undefined> {
  return { ...folder(name, ''), fallback: undefined };
}

/** The name of an S3 bucket. */
export function bucketName(name: string): Setting<string | undefined> {
  const parse = (value: string) => (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value) ? value : undefined);
  const rule = 'the name of a bucket, 3 to 63 characters of a-z, 0-9, "." and "-"';
  return { name, fallback: undefined, rule, parse, secret: true };
}

/** Where a database is. */
export type DatabasePlace =
  /** In a file, by its absolute path. */
  | { readonly kind: 'file'; readonly path: string }
  /** On a PostgreSQL server, by the URL as it was given. */
  | { readonly kind: 'server'; readonly url: string };

/**
 * A `file:` URL (`file:notes.db` and `file:/srv/notes.db` as well as `file:///srv/notes.db`) or one of a PostgreSQL
 * server. It may have a password in it.
 */
export function databaseUrl(name: string): Setting<DatabasePlace | undefined> {
  const parse = (value: string): DatabasePlace | undefined => {
    if (/^postgres(ql)?:\/\/./.test(value))
      return URL.canParse(value) ? { kind: 'server', url: value } : undefined;
    const path = /^file:(?:\/\/(?=\/))?([^\0?#%]+)$/.exec(value)?.[1];
    const usable = path !== undefined && !path.startsWith('//') && !path.endsWith('/');
    return usable ? { kind: 'file', path: resolve(path) } : undefined;
  };
  const rule =
    'a file: URL such as file:/srv/notes.db, without ?, # and %, or a URL such as postgres://user:password@host/database';
  return { name, fallback: undefined, rule, parse, secret: true };
}

/** A file that can be read now, by an absolute path from then on. */
export function readableFile(name: string): Setting<string | undefined> {
  const parse = (value: string) => {
    try {
      accessSync(value, constants.R_OK);
      return statSync(value).isFile() ? resolve(value) : undefined;
    } catch {
      return undefined;
    }
  };
  return { name, fallback: undefined, rule: 'the path of a readable file', parse, secret: false };
}

/** A time zone by its name in the IANA database. */
export function timeZone(name: string, fallback: string): Setting<string> {
  const accepts = (value: string) => {
    try {
      return new Intl.DateTimeFormat('en', { timeZone: value }) !== undefined;
    } catch {
      return false;
    }
  };
  return text(name, fallback, 'the name of a time zone, such as Europe/Berlin', accepts);
}

/** Ed25519 public keys separated by commas. A wrong one may be the private key, so it is not shown. */
export function publicKeys(name: string): Setting<readonly PublicKeyText[] | undefined> {
  const rule = 'Ed25519 public keys, each as PEM or as the base64 of its 32 bytes, separated by commas';
  return { name, fallback: undefined, rule, parse: parsePublicKeys, secret: true };
}

/** A key for hashing and signing: its UTF-8 bytes, at least `min` of them. */
export function secretBytes(name: string, min: number): Setting<Uint8Array | undefined> {
  const parse = (value: string) => {
    const bytes = Buffer.from(value);
    return bytes.length >= min ? bytes : undefined;
  };
  return { name, fallback: undefined, rule: `at least ${min} bytes long`, parse, secret: true };
}

/** A password or token: what any client can send in a header field just as it is (contract §3, "Feed password"). */
export function secretText(name: string, [min, max]: readonly [number, number]): Setting<string | undefined> {
  const parse = (value: string) => {
    const usable = value.length >= min && value.length <= max && /^(?! )[\x20-\x7e]+(?<! )$/.test(value);
    return usable ? value : undefined;
  };
  const rule = `${min} to ${max} printable ASCII characters, with no space at either end`;
  return { name, fallback: undefined, rule, parse, secret: true };
}

/** Names separated by commas. A feed's name is its key, so a wrong one is not shown. */
export function feedNames(name: string): Setting<ReadonlySet<FeedName>> {
  const parse = (value: string) => {
    const names = listOf(value);
    return names.every(isFeedName) ? new Set(names) : undefined;
  };
  const rule = 'feed names (1 to 64 characters of a-z, 0-9, - and _) separated by commas';
  return { name, fallback: new Set(), rule, parse, secret: true };
}

/** What stands between commas, without what is empty. */
function listOf(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
