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

/** Bytes that are looked at: headers are shorter, and the reader of JPEG goes through all it is given, byte by byte. */
export const HEAD_BYTES = 256 * 1024;

const READERS = { png: PNG, jpg: JPG, gif: GIF, webp: WEBP } as const;
/** More than any picture has that browsers show. */
const MAX_SIDE = 65_535;
/** Of the values of Exif's orientation, those from here on turn a picture by a quarter. */
const FIRST_TURNED = 5;

/**
 * The size that a picture's header says, as it is shown: turned as its Exif says. Undefined where it says none, or one
 * that cannot be. The beginning of the bytes is enough, if it holds the header.
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
