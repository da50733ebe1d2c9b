import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { hostUrls } from './database-hosts.ts';
import { type FeedName, isFeedName } from './feeds/names.ts';
import { oneLine } from './feeds/text.ts';
import { type PublicKeyText, parsePublicKeys } from './licenses/keys.ts';
import type { Kind } from './setting.ts';

/** Text that is kept unchanged. */
function text(rule: string, accepts: (text: string) => boolean, secret = false): Kind<string> {
  return { rule, parse: (text) => (accepts(text) ? text : undefined), secret };
}

/** A list with commas. */
function list<T>(rule: string, parse: (entries: string[]) => T | undefined, secret: boolean): Kind<T> {
  const trimmed = (text: string) => text.split(',').map((entry) => entry.trim());
  return { rule, parse: (text) => parse(trimmed(text).filter((entry) => entry !== '')), secret };
}

/** A URL without user, query and fragment. */
function parsePlainUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && !/[?#]/.test(text) && !url.username && !url.password ? url : undefined;
}

/** A decimal number in the inclusive range. */
export function integer([min, max]: readonly [number, number], unit = ''): Kind<number> {
  return {
    rule: `a whole number${unit} from ${min} to ${max}`,
    parse(text) {
      const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return number >= min && number <= max ? number : undefined;
    },
  };
}

/** A number of processes, where `auto` is one for each core. */
export function processCount(max: number): Kind<number> {
  const { rule, parse } = integer([1, max]);
  return {
    rule: `auto or ${rule}`,
    parse: (text) => (text === 'auto' ? Math.min(availableParallelism(), max) : parse(text)),
  };
}

export const onOff: Kind<boolean> = {
  rule: '1 (on) or 0 (off)',
  parse: (text) => (text === '1' ? true : text === '0' ? false : undefined),
};

export function oneOf<const W extends string>(words: readonly W[]): Kind<W> {
  return { rule: `one of ${words.join(', ')}`, parse: (text) => words.find((word) => word === text) };
}

export const host = text(
  'an address or a host name',
  (text) => isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/.test(text),
);

/** An absolute URL to append paths to, kept without trailing slashes. */
export const baseUrl: Kind<string> = {
  rule: 'an absolute http or https URL without user, query, fragment and semicolon',
  parse(text) {
    const url = parsePlainUrl(text);
    // A semicolon would end the path of a cookie.
    return url && /^https?:$/.test(url.protocol) && !url.pathname.includes(';')
      ? url.href.replace(/\/+$/, '')
      : undefined;
  },
  secret: true,
};

/** An absolute URL to send requests to, kept with its end. */
export const targetUrl: Kind<string> = {
  rule: 'an absolute http or https URL without user, query and fragment',
  parse(text) {
    const url = parsePlainUrl(text);
    return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
  },
  secret: true,
};

/** The most hubs. Each change sends requests to every hub. */
const MAX_HUBS = 5;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** A plain URL whose requests nobody on the way can read or change. */
function parseSafeUrl(text: string): URL | undefined {
  const url = parsePlainUrl(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  return isSafe ? url : undefined;
}

/** The address of an OpenID Connect provider. */
export const issuer = text(
  'an https URL without user, query and fragment; http is for localhost and loopback addresses only',
  (text) => parseSafeUrl(text) !== undefined,
  true,
);

/** Hubs of WebSub by their addresses. */
export const hubs: Kind<readonly string[]> = list(
  `1 to ${MAX_HUBS} https URLs without user, query and fragment, separated by commas; http is for localhost and loopback addresses only`,
  (entries) => {
    const urls = entries.map(parseSafeUrl).filter((url) => url !== undefined);
    const isUsable = urls.length === entries.length && urls.length > 0 && urls.length <= MAX_HUBS;
    return isUsable ? [...new Set(urls.map(({ href }) => href))] : undefined;
  },
  true,
);

/** Who may sign in; lower-cased. */
export const allowedPeople: Kind<readonly string[]> = list(
  'e-mail addresses, @domain or *, separated by commas',
  (entries) => {
    const usable = entries.length > 0 && entries.every((entry) => /^(?:\*|[^\s@*;]*@[^\s@*;]+)$/.test(entry));
    return usable ? entries.map((entry) => entry.toLowerCase()) : undefined;
  },
  true,
);

export const claimNames: Kind<readonly string[]> = list(
  'names of claims separated by commas, such as name,email',
  (names) =>
    names.length > 0 && names.every((name) => /^[\x21-\x7e]{1,100}$/.test(name)) ? names : undefined,
  false,
);

/** Secret, because the name of a feed is its key. */
export const feedNames: Kind<ReadonlySet<FeedName>> = list(
  'feed names (1 to 64 characters of a-z, 0-9, - and _) separated by commas',
  (names) => (names.every(isFeedName) ? new Set(names) : undefined),
  true,
);

/** A URL with placeholders. Only the given words may stand in braces: `{word}` is replaced later. */
export function urlTemplate(words: readonly string[]): Kind<string> {
  const places = words.map((word) => `{${word}}`);
  const inBraces = places.length > 0 ? `, in which only ${places.join(', ')} may stand in braces` : '';
  const accepts = (text: string) => {
    const filled = places.reduce((url, place) => url.replaceAll(place, 'x'), text);
    return !/[{}\s]/.test(filled) && /^(https?:\/\/|mailto:)/i.test(filled) && URL.canParse(filled);
  };
  return text(`an absolute http, https or mailto URL${inBraces}`, accepts, true);
}

/** A word, or a value of another kind. */
export function wordOr(word: string, other: Kind<string>): Kind<string> {
  const parse = (text: string) => (text === word ? word : other.parse(text));
  return { ...other, rule: `${word} or ${other.rule}`, parse };
}

/** A text as a feed's title may be. */
export function lineOfText(max: number): Kind<string> {
  return {
    rule: `one line of at most ${max} characters, without control characters`,
    parse(text) {
      try {
        return oneLine('', text, max) || undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** The path of a folder, made absolute. Never `/`: if started as root, the service gives the folder to its user. */
export const folder: Kind<string> = {
  rule: 'the path of a folder other than /',
  parse: (text) => (!text.includes('\0') && resolve(text) !== '/' ? resolve(text) : undefined),
};

export const bucketName = text(
  'the name of a bucket, 3 to 63 characters of a-z, 0-9, "." and "-"',
  (text) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text),
  true,
);

export const regionName = text('the name of a region, of a-z, A-Z, 0-9, "-" and "_"', (text) =>
  /^[\w-]{1,64}$/.test(text),
);

/** A file by its absolute path, or a PostgreSQL server by its URL. */
type DatabasePlace =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'server'; readonly url: string };

/** `file:notes.db`, `file:/srv/notes.db` or `file:///srv/notes.db`, or the URL of a PostgreSQL server. */
export const databaseUrl: Kind<DatabasePlace> = {
  rule: 'a file: URL such as file:/srv/notes.db, without ?, # and %, or a URL such as postgres://user:password@host/database, with commas between several hosts',
  parse(text) {
    if (/^postgres(ql)?:\/\/./.test(text)) return hostUrls(text) ? { kind: 'server', url: text } : undefined;
    const path = /^file:(?:\/\/(?=\/))?([^\0?#%]+)$/.exec(text)?.[1];
    const usable = path !== undefined && !path.startsWith('//') && !path.endsWith('/');
    return usable ? { kind: 'file', path: resolve(path) } : undefined;
  },
  secret: true,
};

/** A file that is readable now, by its absolute path. */
export const readableFile: Kind<string> = {
  rule: 'the path of a readable file',
  parse(text) {
    try {
      accessSync(text, constants.R_OK);
      return statSync(text).isFile() ? resolve(text) : undefined;
    } catch {
      return undefined;
    }
  },
};

export const timeZone = text('the name of a time zone, such as Europe/Berlin', (timeZone) => {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone }));
  } catch {
    return false;
  }
});

/** Secret, because a wrong value may be the private key. */
export const publicKeys: Kind<readonly PublicKeyText[]> = {
  rule: 'Ed25519 public keys, each as PEM or as the base64 of its 32 bytes, separated by commas',
  parse: parsePublicKeys,
  secret: true,
};

/** A key for hashing and signing: UTF-8 bytes. */
export function secretBytes(min: number): Kind<Uint8Array> {
  const parse = (text: string) => (Buffer.byteLength(text) >= min ? Buffer.from(text) : undefined);
  return { rule: `at least ${min} bytes long`, parse, secret: true };
}

/** A password or token that any client can send in a header (contract §3, "Feed password"). */
export function secretText([min, max]: readonly [number, number]): Kind<string> {
  const rule = `${min} to ${max} printable ASCII characters, with no space at either end`;
  const pattern = new RegExp(`^(?! )[\\x20-\\x7e]{${min},${max}}(?<! )$`);
  return text(rule, (text) => pattern.test(text), true);
}
