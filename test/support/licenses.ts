import { newKeyPair, privateKeyIn } from '../../src/licenses/keys.ts';
import { issueLicense } from '../../src/licenses/licenses.ts';

const { privateKey, publicKey } = newKeyPair();

/** The keys that tests issue licenses with. */
export const ISSUER = privateKeyIn(privateKey)!;
export const PUBLIC_KEY = publicKey;

/** A day that never comes, and one that is over, for the clock of the machine. */
export const FAR = '9998-12-31';
export const PAST = '2020-12-31';

/** A license of the tests' issuer. */
export function licenseFor(
  said: { readonly id?: string; readonly until?: string; readonly feeds?: number } = {},
): string {
  return issueLicense(ISSUER, { until: FAR, ...said });
}

/** The settings of an instance that takes these licenses. */
export const HOSTED = { SERVICE_LICENSE_PUBLIC_KEY: PUBLIC_KEY };
