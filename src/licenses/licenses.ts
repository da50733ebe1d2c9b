import { type KeyObject, verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { endOf, invalidLicense, type License, parsePayload, splitLicense } from './format.ts';
import { keyObject, type PublicKeyText } from './keys.ts';

/** The license status of a feed on a hosted instance. */
export interface Tier {
  /** Last day of its license, a UTC date; undefined in the free tier. */
  readonly until: string | undefined;
  /** The license ends within two weeks. */
  readonly endsSoon: boolean;
  /** Last day of a license that has ended but is still attached. */
  readonly endedOn: string | undefined;
  /** The texts that it has. */
  readonly notes: number;
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
    memoMethod: (text) => ({ license: this.#verifyOrUndefined(text) }),
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

  #verifyOrUndefined(text: string): License | undefined {
    try {
      return this.#verify(text);
    } catch {
      return undefined;
    }
  }
}

export function licenseCheck(keys: readonly PublicKeyText[]): LicenseCheck {
  const licenses = new Licenses(keys);
  return (license) => licenses.isValid(license);
}
