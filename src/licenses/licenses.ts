import { type KeyObject, verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { endOf, invalidLicense, type License, licenseIn, licenseParts } from './format.ts';
import { keyObject, type PublicKeyText } from './public-keys.ts';

/** How many are kept as checked; the others are checked anew, 60 µs each. */
const KEPT = 10_000;

/** Whether a license, as it was attached, counts now. */
export type LicenseCheck = (license: string) => boolean;

/** The licenses that some public keys stand for. Nobody is asked: a license is checked by its signature and its date. */
export class Licenses {
  readonly #keys: readonly KeyObject[];
  readonly #now: () => number;
  /** What was found of a text: no key or date changes that. */
  readonly #read = new LRUCache<string, { readonly license: License | undefined }>({ max: KEPT });

  /** @param now a clock, ms since the epoch */
  constructor(keys: readonly PublicKeyText[], now = () => Date.now()) {
    this.#keys = keys.map(keyObject);
    this.#now = now;
  }

  /**
   * What a license says that counts now.
   * @throws Refusal `invalid_license`
   */
  check(text: string): License {
    const license = this.#readSigned(text);
    if (this.isOver(license)) throw invalidLicense(`it ended on ${license.until}`);
    return license;
  }

  /** Whether an attached license counts now. */
  counts(text: string): boolean {
    const license = this.signed(text);
    return license !== undefined && !this.isOver(license);
  }

  /** What a license says, be it over or not; undefined for one that was never issued. */
  signed(text: string): License | undefined {
    let read = this.#read.get(text);
    if (read === undefined) {
      read = { license: this.#orUndefined(text) };
      this.#read.set(text, read);
    }
    return read.license;
  }

  isOver(license: License): boolean {
    return this.msLeft(license) <= 0;
  }

  /** How long a license counts from now on, ms. */
  msLeft(license: License): number {
    return endOf(license) - this.#now();
  }

  #readSigned(text: string): License {
    const { payload, signed, signature } = licenseParts(text);
    if (!this.#keys.some((key) => verify(null, signed, key, signature)))
      throw invalidLicense('it was not signed by the issuer of this instance, or was changed since');
    return licenseIn(payload);
  }

  #orUndefined(text: string): License | undefined {
    try {
      return this.#readSigned(text);
    } catch {
      return undefined;
    }
  }
}

/** A check by some public keys. */
export function licenseCheck(keys: readonly PublicKeyText[]): LicenseCheck {
  const licenses = new Licenses(keys);
  return (license) => licenses.counts(license);
}
