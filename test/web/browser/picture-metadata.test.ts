/** What the compose box finds out about pictures before they are sent. */
import t from 'tap';
import { holdsPosition, isAnimated } from '../../../src/web/browser/writing/picture-metadata.ts';
import { EXIF_MARK, exif, jpegWith } from '../../support/exif.ts';

const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffda0000ffd9', 'hex');
const withPosition = exif({ position: true });
const without = exif({ position: false });

function png(...chunks: (readonly [name: string, data: Uint8Array])[]): Buffer {
  const parts = chunks.map(([name, data]) => {
    const head = Buffer.alloc(8, name);
    head.writeUInt32BE(data.length);
    head.write(name, 4, 'latin1');
    return Buffer.concat([head, data, Buffer.alloc(4)]);
  });
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts]);
}

function webp(...chunks: (readonly [name: string, data: Uint8Array])[]): Buffer {
  const parts = chunks.map(([name, data]) => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(data.length, 4);
    return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
  });
  return Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBP'), ...parts]);
}

t.test('a position is found in EXIF and XMP of each type, and nowhere else', async (t) => {
  const xmp = Buffer.from('http://ns.adobe.com/xap/1.0/\0<x exif:GPSLatitude="48,8N"/>');
  const holding = {
    'JPEG, EXIF': jpegWith(jpeg, Buffer.concat([EXIF_MARK, withPosition])),
    'JPEG, XMP behind EXIF': jpegWith(jpegWith(jpeg, xmp), Buffer.concat([EXIF_MARK, without])),
    PNG: png(['IHDR', Buffer.alloc(13)], ['eXIf', withPosition], ['IDAT', Buffer.alloc(3)]),
    'PNG, XMP': png(['IHDR', Buffer.alloc(13)], ['iTXt', xmp]),
    WebP: webp(['VP8X', Buffer.alloc(10)], ['VP8 ', Buffer.alloc(7)], ['EXIF', withPosition]),
    'WebP, XMP': webp(['VP8X', Buffer.alloc(10)], ['XMP ', xmp]),
  };
  for (const [name, bytes] of Object.entries(holding)) t.equal(holdsPosition(bytes), true, name);
  const others = {
    JPEG: jpeg,
    'JPEG, EXIF without it': jpegWith(jpeg, Buffer.concat([EXIF_MARK, without])),
    'JPEG, EXIF that ends early': jpegWith(jpeg, Buffer.concat([EXIF_MARK, withPosition.subarray(0, 30)])),
    PNG: png(['IHDR', Buffer.alloc(13)], ['eXIf', without]),
    WebP: webp(['VP8 ', withPosition]),
    'no picture': Buffer.from('GPSLatitude'),
    nothing: Buffer.alloc(0),
  };
  for (const [name, bytes] of Object.entries(others)) t.equal(holdsPosition(bytes), false, name);
  for (const [name, bytes] of Object.entries(holding))
    for (let end = 0; end < bytes.length; end += 1)
      t.doesNotThrow(() => holdsPosition(bytes.subarray(0, end)), `${name}, cut`);
});

t.test('a picture that moves is known', async (t) => {
  t.equal(isAnimated(png(['IHDR', Buffer.alloc(13)], ['acTL', Buffer.alloc(8)])), true);
  t.equal(isAnimated(webp(['VP8X', Buffer.alloc(10)], ['ANIM', Buffer.alloc(6)])), true);
  t.equal(isAnimated(png(['IHDR', Buffer.alloc(13)], ['IDAT', Buffer.from('acTL')])), false);
  t.equal(isAnimated(jpeg), false);
});
