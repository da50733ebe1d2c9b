import { GIF } from 'image-size/types/gif';
import { JPG } from 'image-size/types/jpg';
import { PNG } from 'image-size/types/png';
import { WEBP } from 'image-size/types/webp';
import type { PictureType } from './note-types.ts';

/** Width and height of a picture as it is shown, in pixels. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Bytes that are read. Headers are shorter, and the JPEG reader scans all bytes that it gets. */
export const HEAD_BYTES = 256 * 1024;

const READERS = { png: PNG, jpg: JPG, gif: GIF, webp: WEBP } as const;
/** Browsers show no larger picture. */
const MAX_SIDE = 65_535;
/** Values of Exif's orientation from here on turn the picture by 90°. */
const FIRST_TURNED = 5;

/**
 * The size in a picture's header, turned by its Exif orientation; undefined if there is none, or an impossible one. Needs
 * only the bytes up to the end of the header.
 */
export function pixelSize(type: PictureType, bytes: Uint8Array): PixelSize | undefined {
  try {
    const reader = READERS[type];
    const head = bytes.subarray(0, HEAD_BYTES);
    if (!reader.validate(head)) return undefined;
    const { width, height, orientation = 1 } = reader.calculate(head);
    if (!isSide(width) || !isSide(height)) return undefined;
    return orientation >= FIRST_TURNED ? { width: height, height: width } : { width, height };
  } catch {
    return undefined;
  }
}

function isSide(pixels: number): boolean {
  return Number.isInteger(pixels) && pixels > 0 && pixels <= MAX_SIDE;
}

/** The bytes that each format starts with, as latin1 text. */
const SIGNATURES: Readonly<Record<PictureType, RegExp>> = {
  png: /^\x89PNG\r\n\x1a\n/,
  jpg: /^\xff\xd8\xff/,
  gif: /^GIF8[79]a/,
  webp: /^RIFF.{4}WEBP/s,
};

/** Whether bytes start like a picture of this type. */
export function hasSignature(type: PictureType, bytes: Uint8Array): boolean {
  return SIGNATURES[type].test(Buffer.from(bytes.subarray(0, 12)).toString('latin1'));
}
