import type { DraftPicture } from '../keeping/drafts.ts';
import { holdsPosition, isAnimated } from './picture-metadata.ts';

export const POSITION_WARNING =
  'This picture says where it was taken. Everybody who reads the feed can find that out.';

/** Tried in this order until one is small enough. */
const QUALITIES = [0.88, 0.8, 0.7];
/** If no quality is enough, width and height shrink by this factor. */
const STEP = 0.8;
const SMALLEST_SIDE = 64;

/**
 * Prepares a picture for upload. Shrinks it if it is over the limit; animated pictures are never changed.
 * @param limit bytes
 * @param keepsType for a replacement, which must have the same type; else a large PNG becomes a WebP
 * @returns the same file, or a smaller one
 */
export async function preparePicture(
  file: Blob,
  limit: number,
  keepsType: boolean,
): Promise<Pick<DraftPicture, 'file' | 'holdsPosition'>> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (file.size > limit && file.type !== 'image/gif' && !isAnimated(bytes)) {
    const shrunk = await reencode(file, limit, keepsType).catch(() => undefined);
    if (shrunk !== undefined && shrunk.size < file.size) return { file: shrunk, holdsPosition: false };
  }
  return { file, holdsPosition: holdsPosition(bytes) };
}

/** The same picture without its metadata, of the same type; undefined if it is animated. */
export async function withoutMetadata(file: Blob): Promise<Blob | undefined> {
  if (isAnimated(new Uint8Array(await file.arrayBuffer()))) return undefined;
  return reencode(file, Number.POSITIVE_INFINITY, true);
}

/** Draws a picture again, upright, until it has at most `limit` bytes. */
async function reencode(file: Blob, limit: number, keepsType: boolean): Promise<Blob> {
  const bitmap = await createImageBitmap(file, { imageOrientation: 'from-image' });
  try {
    const type = file.type === 'image/png' && !keepsType ? 'image/webp' : file.type;
    const qualities = type === 'image/png' ? QUALITIES.slice(0, 1) : QUALITIES;
    for (let scale = 1; ; scale *= STEP) {
      let drawn: Blob | undefined;
      for (const quality of qualities) {
        drawn = await draw(bitmap, scale, type, quality);
        // A browser that cannot write a type writes PNG.
        if (drawn.type !== type && keepsType) throw new Error(`this browser cannot write ${type}`);
        if (drawn.size <= limit) return drawn;
        if (drawn.type === 'image/png') break;
      }
      if (Math.min(bitmap.width, bitmap.height) * scale * STEP < SMALLEST_SIDE) return drawn!;
    }
  } finally {
    bitmap.close();
  }
}

function draw(bitmap: ImageBitmap, scale: number, type: string, quality: number): Promise<Blob> {
  const side = (length: number) => Math.max(1, Math.round(length * scale));
  const canvas = new OffscreenCanvas(side(bitmap.width), side(bitmap.height));
  const context = canvas.getContext('2d')!;
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type, quality });
}
