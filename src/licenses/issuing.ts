import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { type License, parsePayload, signedText } from './format.ts';
import { type PublicKeyText, textOfKey } from './public-keys.ts';

/** Creates a pair of keys; the private one as PEM. */
export function newKeyPair(): { readonly privateKey: string; readonly publicKey: PublicKeyText } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicKey: textOfKey(publicKey)!,
  };
}

/** An Ed25519 private key from PEM; undefined for anything else. */
export function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

export function publicKeyOf(privateKey: KeyObject): PublicKeyText {
  return textOfKey(createPublicKey(privateKey))!;
}

/**
 * Creates a license, with a random id unless one is given.
 * @throws Refusal `invalid_license`
 */
export function issueLicense(
  privateKey: KeyObject,
  { id = randomBytes(16).toString('base64url'), until, feeds = 1 }: Partial<License> & Pick<License, 'until'>,
): string {
  parsePayload(Buffer.from(JSON.stringify({ id, until, feeds })));
  const signed = signedText({ id, until, feeds });
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
}
