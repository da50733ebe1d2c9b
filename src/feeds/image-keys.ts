import { randomBytes } from 'node:crypto';

declare const brand: unique symbol;

/** The name of a picture's bytes in an image store: 32 lower-case hexadecimal characters. Never in a log or an answer. */
export type ImageKey = string & { readonly [brand]: 'ImageKey' };

export function isImageKey(text: string): text is ImageKey {
  return /^[0-9a-f]{32}$/.test(text);
}

/** A new key: 128 random bits. */
export function newImageKey(): ImageKey {
  return randomBytes(16).toString('hex') as ImageKey;
}
