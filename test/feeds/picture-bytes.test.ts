import fc from 'fast-check';
import { JPG } from 'image-size/types/jpg';
import t from 'tap';
import { PICTURE_TYPES } from '../../src/feeds/note-types.ts';
import { HEAD_BYTES, pixelSize } from '../../src/feeds/picture-bytes.ts';
import { PIXEL, picture } from '../support/pictures.ts';

/** A JPEG with a frame of 300 by 200 pixels, behind an Exif header that says how it is turned. */
function jpeg(orientation: number): Buffer {
  const exif = Buffer.from(
    `4578696600004d4d002a0000000800010112000300000001000${orientation}000000000000`,
    'hex',
  );
  const length = Buffer.from([0, exif.length + 2]);
  const start = Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex');
  const frame = Buffer.from('ffc0001108' + '00c8' + '012c' + '03012200021101031101', 'hex');
  return Buffer.concat([start, Buffer.from('ffe1', 'hex'), length, exif, frame, Buffer.alloc(64)]);
}

/** What the reader says by itself. */
function sizeRead(bytes: Uint8Array) {
  try {
    const { width, height } = JPG.calculate(bytes);
    return width > 0 && height > 0 ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

const GIF = Buffer.from('GIF89a\x07\x00\x05\x00', 'latin1');
const WEBP = Buffer.from('524946461a000000574542505650384c0d0000002f0640010000000000', 'hex');

t.test('sizes of all types', async (t) => {
  t.same(pixelSize('png', PIXEL), { width: 1, height: 1 });
  t.same(pixelSize('gif', GIF), { width: 7, height: 5 });
  t.same(pixelSize('webp', WEBP), { width: 7, height: 6 });
  // Baseline, extended and progressive.
  for (const frame of [0xc0, 0xc1, 0xc2]) {
    const bytes = jpeg(1);
    bytes[bytes.indexOf('ffc0', 'hex') + 1] = frame;
    t.same(pixelSize('jpg', bytes), { width: 300, height: 200 });
  }
});

t.test('a picture that its Exif turns by a quarter has the size that it is shown with', async (t) => {
  t.same(pixelSize('jpg', jpeg(6)), { width: 200, height: 300 });
  t.same(pixelSize('jpg', jpeg(5)), { width: 200, height: 300 });
  t.same(pixelSize('jpg', jpeg(4)), { width: 300, height: 200 });
});

t.test(
  'a JPEG in which a segment is looked for has the size that its reader finds, unless that takes long',
  async (t) => {
    fc.assert(
      fc.property(fc.nat(60), fc.uint8Array({ maxLength: 400 }), (at, junk) => {
        const bytes = Buffer.concat([jpeg(1).subarray(0, at + 4), junk, jpeg(1).subarray(at + 4)]);
        t.same(pixelSize('jpg', bytes), sizeRead(bytes));
      }),
    );
    const [start, rest] = [jpeg(1).subarray(0, 20), jpeg(1).subarray(20)];
    const manyEntries = ['4d4d002a000000080400', '49492a00080000000004'].map((header) => {
      const exif = Buffer.from(`ffe1ffff457869660000${header}`, 'hex');
      return Buffer.concat([exif, Buffer.alloc(65_535 + 2 - exif.length)]);
    });
    for (const between of [
      Buffer.alloc(100_000),
      Buffer.from('ffe20002'.repeat(5_000), 'hex'),
      ...manyEntries,
    ])
      t.equal(pixelSize('jpg', Buffer.concat([start, between, rest])), undefined);
  },
);

t.test('bytes in shared memory', async (t) => {
  const shared = new Uint8Array(new SharedArrayBuffer(PIXEL.length));
  shared.set(PIXEL);
  t.same(pixelSize('png', shared), { width: 1, height: 1 });
});

t.test('sizes that no picture has are none', async (t) => {
  const png = Buffer.from(PIXEL);
  for (const width of [0, 65_536, 0x7fffffff]) {
    png.writeUInt32BE(width, 16);
    t.equal(pixelSize('png', png), undefined);
  }
  png.writeUInt32BE(65_535, 16);
  t.same(pixelSize('png', png), { width: 65_535, height: 1 });
});

t.test('no bytes make it throw, or give a size that is none', async (t) => {
  fc.assert(
    fc.property(fc.constantFrom(...PICTURE_TYPES), fc.uint8Array({ maxLength: 300 }), (type, tail) => {
      const size = pixelSize(type, Buffer.concat([picture(type, 16), tail]));
      return size === undefined || (size.width > 0 && size.height > 0);
    }),
  );
  for (const type of PICTURE_TYPES)
    for (const fill of [0, 0xff])
      t.doesNotThrow(() =>
        pixelSize(type, Buffer.concat([picture(type, 16), Buffer.alloc(2 * HEAD_BYTES, fill)])),
      );
});
