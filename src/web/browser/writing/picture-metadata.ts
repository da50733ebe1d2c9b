/** Tags of EXIF (CIPA DC-008, section 4.6): the directory of positions, and the latitude in it. */
const GPS_DIRECTORY = 0x8825;
const GPS_LATITUDE = 2;
const XMP_LATITUDE = 'GPSLatitude';

// A segment of a JPEG may hold either.
const EXIF_BLOCKS = ['APP1', 'eXIf', 'EXIF'];
const XMP_BLOCKS = ['APP1', 'iTXt', 'XMP '];

/** Whether a JPEG, PNG or WebP says where it was taken, in EXIF or XMP. */
export function holdsPosition(bytes: Uint8Array): boolean {
  return blocksOf(bytes).some(
    ({ name, data }) =>
      (EXIF_BLOCKS.includes(name) && exifHoldsPosition(data)) ||
      (XMP_BLOCKS.includes(name) && latin1(data).includes(XMP_LATITUDE)),
  );
}

/** Whether a PNG (`acTL`) or WebP (`ANIM`) is animated; a redrawn copy would not be. */
export function isAnimated(bytes: Uint8Array): boolean {
  return blocksOf(bytes).some(({ name }) => name === 'acTL' || name === 'ANIM');
}

/** The parts of a picture beside its pixels; a damaged picture has fewer. */
function blocksOf(bytes: Uint8Array): { readonly name: string; readonly data: Uint8Array }[] {
  const view = viewOf(bytes);
  const blocks: ReturnType<typeof blocksOf> = [];
  const start = latin1(bytes.subarray(0, 12));
  const isPng = start.startsWith('PNG', 1);
  if (start.startsWith('\xff\xd8')) {
    // 0xff fills; 0xda begins the pixels.
    for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff && bytes[at + 1] !== 0xda; ) {
      const isFill = bytes[at + 1] === 0xff;
      const length = isFill ? 0 : view.getUint16(at + 2);
      if (bytes[at + 1] === 0xe1)
        blocks.push({ name: 'APP1', data: bytes.subarray(at + 4, at + 2 + length) });
      at += isFill ? 1 : 2 + length;
    }
  } else if (isPng || (start.startsWith('RIFF') && start.endsWith('WEBP'))) {
    // A PNG chunk is length, name, data and checksum; one of WebP is name, length, data and padding.
    for (let at = isPng ? 8 : 12; at + 8 <= bytes.length; ) {
      const [nameAt, lengthAt] = isPng ? [at + 4, at] : [at, at + 4];
      const length = view.getUint32(lengthAt, !isPng);
      const name = latin1(bytes.subarray(nameAt, nameAt + 4));
      blocks.push({ name, data: bytes.subarray(at + 8, at + 8 + length) });
      at += 8 + length + (isPng ? 4 : length % 2);
    }
  }
  return blocks;
}

function exifHoldsPosition(data: Uint8Array): boolean {
  const tiff = latin1(data.subarray(0, 6)) === 'Exif\0\0' ? data.subarray(6) : data;
  const order = latin1(tiff.subarray(0, 2));
  if (order !== 'II' && order !== 'MM') return false;
  const view = viewOf(tiff);
  const little = order === 'II';
  /** Offset of the entry with that tag in a TIFF directory. */
  const entryOf = (directory: number, tag: number) => {
    const count = view.getUint16(directory, little);
    for (let entry = directory + 2; entry < directory + 2 + 12 * count; entry += 12)
      if (view.getUint16(entry, little) === tag) return entry;
    return undefined;
  };
  try {
    const positions = entryOf(view.getUint32(4, little), GPS_DIRECTORY);
    return (
      positions !== undefined && entryOf(view.getUint32(positions + 8, little), GPS_LATITUDE) !== undefined
    );
  } catch {
    // The data is truncated.
    return false;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes);
}
