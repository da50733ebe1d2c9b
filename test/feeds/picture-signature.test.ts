import t from 'tap';
import type { PictureType } from '../../src/feeds/note-types.ts';
import { signedType, wrongFormat } from '../../src/feeds/picture-bytes.ts';

const SIGNED: Readonly<Record<PictureType, readonly string[]>> = {
  png: ['\x89PNG\r\n\x1a\n'],
  jpg: ['\xff\xd8\xff'],
  gif: ['GIF87a', 'GIF89a'],
  webp: ['RIFF\0\0\0\0WEBP', 'RIFF????WEBP'],
};
const TYPES = Object.keys(SIGNED) as PictureType[];
const bytes = (latin1: string) => Buffer.from(latin1, 'latin1');

for (const type of TYPES) {
  t.test(`${type}: its own signature, whole, and no other`, async (t) => {
    for (const signature of SIGNED[type]) {
      t.equal(signedType(bytes(signature)), type);
      t.equal(signedType(bytes(`${signature}more`)), type);
      t.equal(signedType(bytes(signature.slice(0, -1))), undefined);
      t.equal(signedType(bytes(`x${signature}`)), undefined);
    }
  });
}

t.test('close is not enough', async (t) => {
  for (const close of ['', 'GIF88a', 'RIFF0000WAVE', '\x89PNG\n\x1a\n\0'])
    t.equal(signedType(bytes(close)), undefined);
});

const FORMATS: [name: string, start: string][] = [
  ['JPEG', '\xff\xd8\xff\xe0'],
  ['HEIC', '\0\0\0\x18ftypheic'],
  ['HEIC', '\0\0\0\x1cftypmif1'],
  ['AVIF', '\0\0\0\x20ftypavif'],
  ['JPEG XL', '\xff\n\xfa'],
  ['JPEG XL', '\0\0\0\x0cJXL \r\n\x87\n'],
  ['TIFF', 'II*\0'],
  ['TIFF', 'MM\0*'],
  ['BMP', 'BM\x46\x01\0\0\0\0\0\0\x36'],
  ['PDF', '%PDF-1.7'],
  ['SVG', '<svg>'],
  ['SVG', '\xef\xbb\xbf\n<?xml version="1.0"?>\n<!-- a < b -->\n<svg xmlns="x">'],
  ['SVG', '<!DOCTYPE svg PUBLIC "x">\n<SVG\n>'],
];
for (const [name, start] of FORMATS)
  t.test(`bytes that are no PNG are named: ${name}`, async (t) => {
    t.equal(wrongFormat(bytes(start), 'PNG'), `The bytes are ${name}, not PNG.`);
  });

t.test('what is not known is not named', async (t) => {
  for (const start of [
    '',
    'BMW drives on',
    '<svgx>',
    'a <svg>',
    '<?xml?><html>',
    '\0\0\0\x18ftypmp42',
    'II*',
  ])
    t.equal(wrongFormat(bytes(start), 'PNG'), 'The bytes are not PNG.');
});
