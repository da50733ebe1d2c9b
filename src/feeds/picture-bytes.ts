import { createHash } from 'node:crypto';
import { GIF } from 'image-size/types/gif';
import { JPG } from 'image-size/types/jpg';
import { PNG } from 'image-size/types/png';
import { WEBP } from 'image-size/types/webp';
import { PICTURE_TYPES, type PictureType, typeName } from './note-types.ts';

/** Width and height of a picture as it is shown, in pixels. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Bytes that are read; headers are shorter. */
export const HEAD_BYTES = 256 * 1024;

/** Where a JPEG has the length of its first segment. */
const FIRST_LENGTH = 4;
/** Every marker of a JPEG begins with this byte. */
const MARKER = 0xff;
/** The second bytes of the markers before a frame, which says the size. */
const FRAMES = new Set([0xc0, 0xc1, 0xc2]);
/** What an Exif header begins with, and the byte that says its order of bytes. */
const EXIF = Buffer.from('Exif');
const BIG_ENDIAN = 0x4d;

const READERS = { png: PNG, jpg: JPG, gif: GIF, webp: WEBP } as const;
/** The most steps from segment to segment of a JPEG, and from byte to byte where one is lost: pictures of cameras take about 20. */
const MAX_STEPS = 2_000;
/** The most entries of an Exif header; each is looked at. Cameras write about 20. */
const MAX_EXIF_ENTRIES = 1_000;
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
    if (!reader.validate(head) || (type === 'jpg' && !hasFrame(head))) return undefined;
    const { width, height, orientation = 1 } = reader.calculate(head);
    if (!isSide(width) || !isSide(height)) return undefined;
    return orientation >= FIRST_TURNED ? { width: height, height: width } : { width, height };
  } catch {
    return undefined;
  }
}

/** Whether the reader of JPEG comes to a frame, which has the size, in few steps: without one it takes 60 ms for 256 KB. */
function hasFrame(head: Uint8Array): boolean {
  let at = FIRST_LENGTH;
  for (let steps = 0; steps < MAX_STEPS && at + 1 < head.length; steps += 1) {
    if (exifEntries(head, at + 2) > MAX_EXIF_ENTRIES) return false;
    const next = at + ((head[at]! << 8) | head[at + 1]!);
    if (head[next] !== MARKER) {
      at += 1;
      continue;
    }
    if (FRAMES.has(head[next + 1]!)) return true;
    at = next + 2;
  }
  return false;
}

/** How many entries an Exif header at that place says it has; 0 if there is none. */
function exifEntries(head: Uint8Array, at: number): number {
  if (!EXIF.every((byte, n) => head[at + n] === byte)) return 0;
  const [first = 0, second = 0] = head.subarray(at + 14, at + 16);
  return head[at + 6] === BIG_ENDIAN ? (first << 8) | second : (second << 8) | first;
}

function isSide(pixels: number): boolean {
  return Number.isInteger(pixels) && pixels > 0 && pixels <= MAX_SIDE;
}

/** Bytes at the start of a picture that tell its type. */
export const SIGNATURE_BYTES = 12;
/** What files of each type start with, as latin1 text. */
const SIGNATURES: Readonly<Record<PictureType, RegExp>> = {
  png: /^\x89PNG\r\n\x1a\n/,
  jpg: /^\xff\xd8\xff/,
  gif: /^GIF8[79]a/,
  webp: /^RIFF.{4}WEBP/s,
};

/** The type of a picture by its signature; undefined for any other bytes. */
export function signedType(bytes: Uint8Array): PictureType | undefined {
  const start = startOf(bytes, SIGNATURE_BYTES);
  return PICTURE_TYPES.find((type) => SIGNATURES[type].test(start));
}

/** What people post as a picture, or as a text, but is none of ours. */
const OTHER_FORMATS: Readonly<Record<string, RegExp>> = {
  HEIC: /^.{4}ftyp(?:hei[cmsx]|hev[cmsx]|mif1|msf1)/s,
  AVIF: /^.{4}ftypavi[fs]/s,
  'JPEG XL': /^(?:\xff\n|\0\0\0\x0cJXL )/,
  TIFF: /^(?:II\*\0|MM\0\*)/,
  BMP: /^BM.{4}\0{4}/s,
  PDF: /^%PDF-/,
  'UTF-16': /^(?:\xff\xfe|\xfe\xff)/,
  SVG: /^(?:\xef\xbb\xbf)?\s*<(?:[?!].*<)?svg[\s>]/is,
};
/** An SVG may begin with a declaration and comments. */
const FORMAT_BYTES = 1024;

/** Why bytes are refused, for example `The bytes are HEIC, not PNG.` */
export function wrongFormat(bytes: Uint8Array, expected: string): string {
  const name = formatName(bytes);
  return `The bytes are ${name === undefined ? '' : `${name}, `}not ${expected}.`;
}

function formatName(bytes: Uint8Array): string | undefined {
  const type = signedType(bytes);
  if (type !== undefined) return typeName(type);
  const start = startOf(bytes, FORMAT_BYTES);
  return Object.keys(OTHER_FORMATS).find((name) => OTHER_FORMATS[name]!.test(start));
}

function startOf(bytes: Uint8Array, length: number): string {
  return Buffer.from(bytes.subarray(0, length)).toString('latin1');
}

/** The result of inspecting a picture. */
export interface Inspection {
  /** The type by the signature; undefined if there is none. */
  readonly type: PictureType | undefined;
  /** SHA-256 of the bytes in base64url. */
  readonly sha256: string;
  /** Width and height, if the header has them. */
  readonly pixels: PixelSize | undefined;
}

/** Finds the type and the size of a picture, and hashes it. */
export function inspect(bytes: Uint8Array): Inspection {
  const type = signedType(bytes);
  return {
    type,
    sha256: createHash('sha256').update(bytes).digest('base64url'),
    pixels: type && pixelSize(type, bytes),
  };
}
