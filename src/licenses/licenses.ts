import { type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Refusal } from '../refusals.ts';
import { keyObject, type PublicKeyText, undefinedIfThrown } from './keys.ts';

/**
 * A license as text: `nf1.<payload>.<signature>`, both in base64url without padding; the payload is JSON, the Ed25519
 * signature is over the text before the second dot (contract §12).
 */
const PREFIX = 'nf1';
/** Far more than an issued license has. */
const MAX_LENGTH = 1024;
const SIGNATURE_BYTES = 64;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Most feeds that one license serves at once. */
const MAX_FEEDS = 1_000;

/** The content of a license. */
interface License {
  /** The same license wherever it is attached. */
  readonly id: string;
  /** Its last day, a UTC date such as `2027-12-31`. */
  readonly until: string;
  /** How many feeds it serves at once, 1 to 1,000. */
  readonly feeds: number;
}

/** Signature checks to cache; one takes 60 µs. */
const MAX_CACHED = 10_000;

/** Whether an attached license is valid now. */
export type LicenseCheck = (license: string) => boolean;

/** The license status of a feed on an instance whose feeds need licenses. */
export interface Tier {
  /** Last day of its license, a UTC date; undefined in the free tier. */
  readonly until: string | undefined;
  /** The license ends within two weeks. */
  readonly endsSoon: boolean;
  /** Last day of a license that has ended but is still attached. */
  readonly endedOn: string | undefined;
  /** The texts that it has. */
  readonly notes: number;
  /** The texts that it may have in the free tier. */
  readonly freeNotes: number;
}

/** Verifies licenses offline by signature and date. */
export class Licenses {
  readonly #keys: readonly KeyObject[];
  readonly #now: () => number;
  /** Cache of signature checks. */
  readonly #verified = new LRUCache<string, { readonly license: License | undefined }>({
    max: MAX_CACHED,
    memoMethod: (text) => ({ license: undefinedIfThrown(() => this.#verify(text)) }),
  });

  /** @param now ms since the epoch */
  constructor(keys: readonly PublicKeyText[], now = () => Date.now()) {
    this.#keys = keys.map(keyObject);
    this.#now = now;
  }

  /** The content of a license that is valid now. Throws a Refusal `invalid_license`. */
  check(text: string): License {
    const license = this.#verify(text);
    if (this.msLeft(license) <= 0) throw invalidLicense(`it ended on ${license.until}`);
    return license;
  }

  isValid(text: string): boolean {
    const license = this.find(text);
    return license !== undefined && this.msLeft(license) > 0;
  }

  /** The content of a license, also of one that has ended; undefined if it was never issued. */
  find(text: string): License | undefined {
    return this.#verified.memo(text).license;
  }

  /** How long a license is still valid, ms. */
  msLeft(license: License): number {
    return endOf(license) - this.#now();
  }

  #verify(text: string): License {
    const { payload, signed, signature } = splitLicense(text);
    if (!this.#keys.some((key) => verify(null, signed, key, signature)))
      throw invalidLicense('it was not signed by the issuer of this instance, or was changed since');
    return parsePayload(payload);
  }
}

export function licenseCheck(keys: readonly PublicKeyText[]): LicenseCheck {
  const licenses = new Licenses(keys);
  return (license) => licenses.isValid(license);
}

/**
 * Splits a license, before its signature is verified. No two texts have the same parts, so a license cannot be written in two ways.
 * @throws Refusal `invalid_license`
 */
function splitLicense(text: string): Record<'payload' | 'signature' | 'signed', Uint8Array> {
  if (text.length > MAX_LENGTH) throw invalidLicense('it is too long');
  const [prefix, payload, signature, ...more] = text.split('.');
  if (prefix !== PREFIX) throw invalidLicense(`it does not begin with "${PREFIX}."`);
  if (payload === undefined || signature === undefined || more.length > 0)
    throw invalidLicense('it must have three parts with a dot between them');
  const parts = {
    payload: decodeBase64url(payload),
    signature: decodeBase64url(signature),
    signed: Buffer.from(`${PREFIX}.${payload}`),
  };
  if (parts.signature.length !== SIGNATURE_BYTES) throw invalidLicense('its signature is cut off');
  return parts;
}

/** @throws Refusal `invalid_license` */
function parsePayload(payload: Uint8Array): License {
  const { id, until, feeds = 1 } = parseObject(payload);
  if (typeof id !== 'string' || !/^[\w-]{1,64}$/.test(id))
    throw invalidLicense('its id must be 1 to 64 characters of a-z, A-Z, 0-9, "-" and "_"');
  if (typeof until !== 'string' || !isDate(until))
    throw invalidLicense('its last day is no date such as 2027-12-31');
  if (typeof feeds !== 'number' || !Number.isInteger(feeds) || feeds < 1 || feeds > MAX_FEEDS)
    throw invalidLicense(`the number of its feeds must be 1 to ${MAX_FEEDS}`);
  return { id, until, feeds };
}

/** Creates a license, with a random id unless one is given. Throws a Refusal `invalid_license`. */
export function issueLicense(
  privateKey: KeyObject,
  { id = randomBytes(16).toString('base64url'), until, feeds = 1 }: Partial<License> & Pick<License, 'until'>,
): string {
  parsePayload(Buffer.from(JSON.stringify({ id, until, feeds })));
  const payload = JSON.stringify({ id, until, ...(feeds > 1 && { feeds }) });
  const signed = `${PREFIX}.${Buffer.from(payload).toString('base64url')}`;
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
}

/** The id of a license, without verifying it; undefined if the text is none. */
export function licenseId(text: string): string | undefined {
  return undefinedIfThrown(() => parsePayload(splitLicense(text).payload).id);
}

/** When a license ends, ms since the epoch: the end of its last day in UTC. */
export function endOf({ until }: Pick<License, 'until'>): number {
  return Date.parse(`${until}T00:00:00Z`) + DAY_MS;
}

/** @param reason the end of a sentence */
function invalidLicense(reason: string): Refusal {
  return new Refusal('invalid_license', `This license is not valid here: ${reason}.`, { field: 'license' });
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function decodeBase64url(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64url');
  // The decoder accepts other texts for the same bytes.
  if (bytes.toString('base64url') !== text)
    throw invalidLicense('it is cut off or not written as it was issued');
  return bytes;
}

function parseObject(payload: Uint8Array): Record<string, unknown> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const value = undefinedIfThrown(() => JSON.parse(decoder.decode(payload)) as unknown);
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw invalidLicense('what it says cannot be read');
}
