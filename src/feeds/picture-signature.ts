import type { PictureType } from './note-types.ts';

/** The bytes a format starts with, as latin1 text; a `?` stands for any byte. */
const SIGNATURES: Readonly<Record<PictureType, readonly string[]>> = {
  png: ['\x89PNG\r\n\x1a\n'],
  jpg: ['\xff\xd8\xff'],
  gif: ['GIF87a', 'GIF89a'],
  webp: ['RIFF????WEBP'],
};

/** Whether bytes start like a picture of this type. */
export function hasSignature(type: PictureType, bytes: Uint8Array): boolean {
  return SIGNATURES[type].some((signature) => startsWith(bytes, signature));
}

function startsWith(bytes: Uint8Array, signature: string): boolean {
  for (let i = 0; i < signature.length; i += 1) {
    if (signature[i] !== '?' && signature.charCodeAt(i) !== bytes[i]) return false;
  }
  return true;
}
