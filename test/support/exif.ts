/** A directory of TIFF with entries of one value each: tag, type and value. */
function directory(entries: readonly (readonly [tag: number, type: number, value: number])[]): Buffer {
  const bytes = Buffer.alloc(2 + 12 * entries.length + 4);
  bytes.writeUInt16LE(entries.length);
  for (const [index, [tag, type, value]] of entries.entries()) {
    const at = 2 + 12 * index;
    bytes.writeUInt16LE(tag, at);
    bytes.writeUInt16LE(type, at + 2);
    bytes.writeUInt32LE(1, at + 4);
    bytes.writeUInt32LE(value, at + 8);
  }
  return bytes;
}

/** The EXIF of a picture that was taken with the camera on its side (orientation 6), with or without where that was. */
export function exif({ position }: { readonly position: boolean }): Buffer {
  const orientation = [0x0112, 3, 6] as const;
  const header = Buffer.from('49492a0008000000', 'hex');
  if (!position) return Buffer.concat([header, directory([orientation])]);
  const first = directory([orientation, [0x8825, 4, 8 + 2 + 24 + 4]]);
  const latitude = directory([[2, 4, 0]]);
  return Buffer.concat([header, first, latitude]);
}

/** A JPEG with a segment put in at its front. */
export function jpegWith(jpeg: Uint8Array, data: Uint8Array): Buffer<ArrayBuffer> {
  const head = Buffer.from([0xff, 0xe1, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), head, data, jpeg.subarray(2)]);
}

/** What precedes EXIF in a JPEG. */
export const EXIF_MARK = Buffer.from('Exif\0\0');
