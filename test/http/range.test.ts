/** RFC 9110 §14.1.2 and §14.2. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { parseRange } from '../../src/http/conditional.ts';

const SIZE = 10_000;
const cases: [header: string, part: ReturnType<typeof parseRange>][] = [
  ['bytes=0-499', { start: 0, end: 500 }],
  ['bytes=500-999', { start: 500, end: 1000 }],
  ['bytes=0-0', { start: 0, end: 1 }],
  ['bytes=9999-9999', { start: 9999, end: 10_000 }],
  ['bytes=9500-', { start: 9500, end: 10_000 }],
  ['bytes=0-', { start: 0, end: 10_000 }],
  ['bytes=9999-10000', { start: 9999, end: 10_000 }],
  ['bytes=5-99999999999999999999999', { start: 5, end: 10_000 }],
  ['bytes=-500', { start: 9500, end: 10_000 }],
  ['bytes=-1', { start: 9999, end: 10_000 }],
  ['bytes=-10001', { start: 0, end: 10_000 }],
  ['Bytes=0-1', { start: 0, end: 2 }],
  [' bytes=0-1 ', { start: 0, end: 2 }],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=10000-', 'unsatisfiable'],
  ['bytes=10000-10001', 'unsatisfiable'],
  [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
  ['', undefined],
  ['bytes', undefined],
  ['bytes=', undefined],
  ['bytes=-', undefined],
  ['bytes=5-4', undefined],
  ['bytes=a-b', undefined],
  ['bytes=1.5-2', undefined],
  ['bytes=0x1-2', undefined],
  ['bytes=--1', undefined],
  ['bytes=0-1,5-6', undefined],
  ['bytes=0-1\nx', undefined],
  ['lines=0-1', undefined],
  ['xbytes=0-1', undefined],
];
for (const [header, part] of cases) {
  t.test(`${JSON.stringify(header.slice(0, 40))} of ${SIZE} bytes`, async (t) =>
    t.same(parseRange(header, SIZE), part),
  );
}

for (const header of ['bytes=0-', 'bytes=0-0', 'bytes=-5', 'bytes=-0']) {
  t.test(`"${header}" of an empty file is ignored`, async (t) => t.equal(parseRange(header, 0), undefined));
}

const position = fc.oneof(fc.constant(''), fc.nat(300).map(String), fc.stringMatching(/^\d{1,30}$/));

t.test('a part lies inside, is not empty and is what was asked for', async () => {
  fc.assert(
    fc.property(position, position, fc.nat(200), (first, last, size) => {
      const part = parseRange(`bytes=${first}-${last}`, size);
      if (part === undefined || part === 'unsatisfiable') return true;
      const { start, end } = part;
      const isAsked = first === '' ? end === size && end - start <= Number(last) : start === Number(first);
      return start >= 0 && start < end && end <= size && isAsked;
    }),
  );
});

t.test('every part of a file can be asked for', async () => {
  const bounds = fc
    .tuple(fc.nat(99), fc.nat(99))
    .map(([a, b]) => (a < b ? [a, b] : [b, a]) as [number, number]);
  fc.assert(
    fc.property(bounds, ([first, last]) => {
      assert.deepEqual(parseRange(`bytes=${first}-${last}`, 100), { start: first, end: last + 1 });
    }),
  );
});

t.test('no text makes it throw', async () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), (text, size) => {
      parseRange(text, size);
      parseRange(`bytes=${text}`, size);
    }),
  );
});
