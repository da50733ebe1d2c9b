import { createHash } from 'node:crypto';
import type { PictureType } from '../src/feeds/note-types.ts';
import { type PixelSize, pixelSize, signedType } from '../src/feeds/picture-bytes.ts';

/** The result of inspecting a picture. */
export interface Inspection {
  /** The type by their signature; undefined if they have none. */
  readonly type: PictureType | undefined;
  /** Their SHA-256 in base64url. */
  readonly sha256: string;
  /** Width and height, if they are found. */
  readonly pixels: PixelSize | undefined;
}

/**
 * Finds the type and the size of a picture, and hashes it.
 * @param bytes not copied to the thread if in a SharedArrayBuffer
 */
export default function inspect(bytes: Uint8Array): Inspection {
  const type = signedType(bytes);
  return {
    type,
    sha256: createHash('sha256').update(bytes).digest('base64url'),
    pixels: type && pixelSize(type, bytes),
  };
}
