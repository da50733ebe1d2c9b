import t from 'tap';
import type { PictureType } from '../../src/feeds/note-types.ts';
import { hasSignature } from '../../src/feeds/picture-bytes.ts';

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
      t.ok(hasSignature(type, bytes(signature)));
      t.ok(hasSignature(type, bytes(`${signature}more`)));
      t.notOk(hasSignature(type, bytes(signature.slice(0, -1))));
      t.notOk(hasSignature(type, bytes(`x${signature}`)));
      for (const other of TYPES) t.equal(hasSignature(other, bytes(signature)), other === type);
    }
    t.notOk(hasSignature(type, new Uint8Array()));
  });
}

t.test('close is not enough', async (t) => {
  t.notOk(hasSignature('gif', bytes('GIF88a')));
  t.notOk(hasSignature('webp', bytes('RIFF0000WAVE')));
  t.notOk(hasSignature('png', bytes('\x89PNG\n\x1a\n\0')));
});
