import { holdsPosition, isAnimated } from './picture-metadata.ts';

/** A picture ready to be sent, and what its sender should know of it. */
export interface PreparedPicture {
  readonly file: Blob;
  /** It is smaller than what was chosen. */
  readonly isShrunk: boolean;
  /** It says where it was taken. */
  readonly holdsPosition: boolean;
}

export interface PictureLimits {
  /** A picture larger than this is shrunk, bytes. */
  readonly shrink: number;
  /** Largest picture that the instance takes, bytes. */
  readonly largest: number;
}

/** Each is tried until one is small enough. */
const QUALITIES = [0.88, 0.8, 0.7];
/** What is left of width and height where no quality is enough. */
const STEP = 0.8;
const SMALLEST_SIDE = 64;

/**
 * A picture as it is sent: as it is unless it is too large, and one that moves always.
 * @param keepsType it replaces a picture, so that it must be of the same type; else a large PNG becomes a WebP
 */
export async function prepared(
  file: Blob,
  limits: PictureLimits,
  { keepsType }: { readonly keepsType: boolean },
): Promise<PreparedPicture> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (file.size > limits.shrink && file.type !== 'image/gif' && !isAnimated(bytes)) {
    const shrunk = await redrawn(file, limits.shrink, keepsType).catch(() => undefined);
    if (shrunk !== undefined && shrunk.size < file.size)
      return { file: shrunk, isShrunk: true, holdsPosition: false };
  }
  return { file, isShrunk: false, holdsPosition: holdsPosition(bytes) };
}

/** The same picture without its metadata, of the same type. */
export async function withoutMetadata(file: Blob): Promise<Blob> {
  return redrawn(file, Number.POSITIVE_INFINITY, true);
}

/** Draws a picture anew, upright as its metadata says, until it has at most `most` bytes. */
async function redrawn(file: Blob, most: number, keepsType: boolean): Promise<Blob> {
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
        if (drawn.size <= most) return drawn;
        if (drawn.type === 'image/png') break;
      }
      if (Math.min(bitmap.width, bitmap.height) * scale * STEP < SMALLEST_SIDE) return drawn!;
    }
  } finally {
    bitmap.close();
  }
}

function draw(bitmap: ImageBitmap, scale: number, type: string, quality: number): Promise<Blob> {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext('2d')!;
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('too large to draw'))), type, quality);
  });
}
