import { createPublicKey, type KeyObject } from 'node:crypto';

/** An Ed25519 public key: its 32 bytes in base64url, so it can go to a thread. */
export type PublicKeyText = string & { readonly _publicKey: never };

const KEY_BYTES = 32;

/**
 * Ed25519 public keys separated by commas, each as PEM or as its 32 bytes in base64 (or base64url). Undefined where one
 * is none.
 */
export function publicKeysIn(text: string): readonly PublicKeyText[] | undefined {
  const keys = text.split(',').map((part) => publicKeyIn(part.trim()));
  return keys.every((key) => key !== undefined) ? [...new Set(keys)] : undefined;
}

/** The key as `node:crypto` takes it. */
export function keyObject(key: PublicKeyText): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key }, format: 'jwk' });
}

/** The text of a key; undefined where it is not for Ed25519. */
export function textOfKey(key: KeyObject): PublicKeyText | undefined {
  if (key.asymmetricKeyType !== 'ed25519') return undefined;
  return key.export({ format: 'jwk' }).x as PublicKeyText;
}

function publicKeyIn(text: string): PublicKeyText | undefined {
  // A private key would be taken as well: its public one follows from it.
  if (text.startsWith('-----BEGIN PUBLIC KEY-----')) return fromPem(text);
  const bytes = Buffer.from(text, 'base64');
  const isExact = /^[\w+/-]{43}=?$/.test(text) && bytes.length === KEY_BYTES;
  return isExact ? (bytes.toString('base64url') as PublicKeyText) : undefined;
}

function fromPem(text: string): PublicKeyText | undefined {
  try {
    return textOfKey(createPublicKey(text));
  } catch {
    return undefined;
  }
}
