import { createHash } from 'node:crypto';
import type { PictureType } from '../src/feeds/note-types.ts';
import { hasSignature, type PixelSize, pixelSize } from '../src/feeds/picture-bytes.ts';

export interface PictureBytes {
  readonly type: PictureType;
  /** Not copied to the thread if in a SharedArrayBuffer. */
  readonly bytes: Uint8Array;
}

/** The result of inspecting a picture. */
export interface Inspection {
  /** They carry the signature of the declared type. */
  readonly signed: boolean;
  /** Their SHA-256 in base64url. */
  readonly sha256: string;
  /** Width and height, if they are found. */
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
