import fc from 'fast-check';
import t from 'tap';
import { isNoteId, type NoteFile, noteFile } from '../../src/feeds/names.ts';
import { NOTE_TYPES } from '../../src/feeds/note-types.ts';
import { decodeCursor, encodeCursor } from '../../src/feeds/order.ts';

t.test('a cursor is the date in base 36 and the file', async (t) => {
  t.equal(encodeCursor({ createdAt: 36, file: 'a b.md' as NoteFile }), '10.a b.md');
  t.same(decodeCursor('-10.a b.md'), { createdAt: -36, file: 'a b.md' });
});

t.test('what is encoded is decoded, and is no note id', async () => {
  const position = fc.record({
    createdAt: fc.integer({ min: -8.64e15, max: 8.64e15 }),
    file: fc
      .tuple(fc.string({ unit: 'binary' }).filter(isNoteId), fc.constantFrom(...NOTE_TYPES))
      .map((of) => noteFile(...of)),
  });
  fc.assert(
    fc.property(position, (given) => {
      const cursor = encodeCursor(given);
      const back = decodeCursor(cursor);
      return !isNoteId(cursor) && back?.createdAt === given.createdAt && back.file === given.file;
    }),
  );
});

t.test('any other text is no cursor, or is just what would be encoded', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9a-zA-Z.]{1,14}\.(md|png)$/)), (text) => {
      const position = decodeCursor(text);
      return position === undefined || encodeCursor(position) === text;
    }),
  );
});

const wrong = [
  '',
  '.',
  'a',
  'a.md',
  '.a.md',
  '1..md',
  '1.a.exe',
  '1.a.b.md',
  'A.a.md',
  '-0.a.md',
  '01.a.md',
  '+1.a.md',
  ' 1.a.md',
  '1 .a.md',
  '1.5.a.md',
  'NaN.a.md',
  'zzzzzzzzzzzz.a.md',
  `${(8.64e15 + 1).toString(36)}.a.md`,
  '1.a/b.md',
];
for (const text of wrong) {
  t.test(`not a cursor: "${text}"`, async (t) => t.equal(decodeCursor(text), undefined));
}

t.test('a date with a fraction is a mistake of ours', async (t) => {
  t.throws(() => encodeCursor({ createdAt: 1.5, file: 'a.md' as NoteFile }), TypeError);
});
