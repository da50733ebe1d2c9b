import { createHash } from 'node:crypto';
import type { PictureType } from '../src/feeds/note-types.ts';
import { hasSignature } from '../src/feeds/picture-signature.ts';
import { type PixelSize, pixelSize } from '../src/feeds/pixel-size.ts';

/** A picture to look at. */
export interface PictureBytes {
  readonly type: PictureType;
  /** Read where they are when in a SharedArrayBuffer; from any other buffer a thread gets a copy. */
  readonly bytes: Uint8Array;
}

/** What the bytes of a picture say. */
export interface Inspection {
  /** They carry the signature of the declared type. */
  readonly signed: boolean;
  /** Their SHA-256 in base64url. */
  readonly sha256: string;
  /** Width and height; undefined where they are not to be found. */
  readonly pixels: PixelSize | undefined;
}

/** Checks the signature of a picture, hashes it and reads its size. */
export default function inspect({ type, bytes }: PictureBytes): Inspection {
  return {
    signed: hasSignature(type, bytes),
    sha256: createHash('sha256').update(bytes).digest('base64url'),
    pixels: pixelSize(type, bytes),
  };
}
