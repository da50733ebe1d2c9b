import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** An Ed25519 public key as base64url, which can be sent to a thread. */
export type PublicKeyText = string & { readonly _publicKey: never };

const KEY_BYTES = 32;

/** Parses Ed25519 public keys separated by commas, each as PEM or as 32 bytes in base64 (or base64url). */
export function parsePublicKeys(text: string): readonly PublicKeyText[] | undefined {
  const keys = text.split(',').map((part) => parsePublicKey(part.trim()));
  return keys.every((key) => key !== undefined) ? [...new Set(keys)] : undefined;
}

export function keyObject(key: PublicKeyText): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key }, format: 'jwk' });
}

function parsePublicKey(text: string): PublicKeyText | undefined {
  // Without the header check, `createPublicKey` would accept a private key too.
  if (text.startsWith('-----BEGIN PUBLIC KEY-----')) {
    const key = ed25519(() => createPublicKey(text));
    return key && publicKeyOf(key);
  }
  const bytes = Buffer.from(text, 'base64');
  const isExact = /^[\w+/-]{43}=?$/.test(text) && bytes.length === KEY_BYTES;
  return isExact ? (bytes.toString('base64url') as PublicKeyText) : undefined;
}

/** Creates a pair of keys; the private one as PEM. */
export function newKeyPair(): { readonly privateKey: string; readonly publicKey: PublicKeyText } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicKey: publicKeyOf(publicKey),
  };
}

/** An Ed25519 private key from PEM; undefined for anything else. */
export function privateKeyIn(pem: string): KeyObject | undefined {
  return ed25519(() => createPrivateKey(pem));
}

/** The public half of a private key, or the key itself. */
export function publicKeyOf(key: KeyObject): PublicKeyText {
  return key.export({ format: 'jwk' }).x as PublicKeyText;
}

/** The key that is read, if it can be and is for Ed25519. */
function ed25519(read: () => KeyObject): KeyObject | undefined {
  const key = undefinedIfThrown(read);
  return key?.asymmetricKeyType === 'ed25519' ? key : undefined;
}

export function undefinedIfThrown<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
