import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { type License, licenseIn, signedText } from './format.ts';
import { type PublicKeyText, textOfKey } from './public-keys.ts';

/** A new pair of keys: the private one as PEM, and the text of the public one. */
export function newKeyPair(): { readonly privateKey: string; readonly publicKey: PublicKeyText } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicKey: textOfKey(publicKey)!,
  };
}

/** The private key in a PEM text; undefined where it is none for Ed25519. */
export function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** The text of the public key that belongs to a private one. */
export function publicKeyOf(privateKey: KeyObject): PublicKeyText {
  return textOfKey(createPublicKey(privateKey))!;
}

/**
 * A new license, with an id of its own unless one is given.
 * @throws Refusal `invalid_license` for what no license may say
 */
export function issueLicense(
  privateKey: KeyObject,
  { id = randomBytes(16).toString('base64url'), until, feeds = 1 }: Partial<License> & Pick<License, 'until'>,
): string {
  licenseIn(Buffer.from(JSON.stringify({ id, until, feeds })));
  const signed = signedText({ id, until, feeds });
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
}
