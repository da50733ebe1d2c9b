import type { PictureType } from '../../src/feeds/note-types.ts';

/** Beginnings of real files of each type. */
const SIGNATURES: Record<PictureType, number[]> = {
  png: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  jpg: [0xff, 0xd8, 0xff, 0xe0],
  gif: [...Buffer.from('GIF89a')],
  webp: [...Buffer.from('RIFF\0\0\0\0WEBP')],
};

/** Bytes with the signature of a type, and different ones for each seed. */
export function picture(type: PictureType, size = 64, seed = 0): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i < size; i++) bytes[i] = (i * 31 + seed * 7 + (i >> 8)) & 0xff;
  bytes.set(SIGNATURES[type]);
  return bytes;
}

/** A whole picture of one pixel, which every reader can show. */
export const PIXEL: Buffer<ArrayBuffer> = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
) as Buffer<ArrayBuffer>;
