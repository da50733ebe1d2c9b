import fc from 'fast-check';
import t from 'tap';
import { copyBytes } from '../../src/http/buffers.ts';

t.test('bytes are copied as set copies them, also where the two places overlap', async () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc.nat(299),
      fc.nat(299),
      fc.nat(300),
      fc.boolean(),
      (bytes, a, b, length, isShared) => {
        const from = a % bytes.length;
        const at = b % bytes.length;
        const count = Math.min(length, bytes.length - Math.max(from, at));
        const buffer = isShared ? new SharedArrayBuffer(bytes.length) : new ArrayBuffer(bytes.length);
        const actual = new Uint8Array(buffer);
        actual.set(bytes);
        copyBytes(actual.subarray(from, from + count), actual, at);
        const expected = bytes.slice();
        expected.set(bytes.subarray(from, from + count), at);
        return Buffer.compare(actual, expected) === 0;
      },
    ),
  );
});
