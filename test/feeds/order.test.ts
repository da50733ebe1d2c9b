import fc from 'fast-check';
import t from 'tap';
import { type NoteFile, type NoteId, noteFile } from '../../src/feeds/names.ts';
import { NOTE_TYPES, type NoteType } from '../../src/feeds/note-types.ts';
import { type Ordered, oldestFirst, sortKeyOf } from '../../src/feeds/order.ts';

const note = (createdAt: number, id: string, type: NoteType): Ordered => ({
  createdAt,
  id: id as NoteId,
  type,
});

t.test('the date comes before the id, the id before the type', async (t) => {
  const ascending = [
    note(-5, 'z', 'webp'),
    note(1, 'Z', 'md'),
    note(1, 'a', 'md'),
    note(1, 'a', 'png'),
    note(1, 'a', 'jpg'),
    note(1, 'a', 'gif'),
    note(1, 'a', 'webp'),
    note(1, 'ä', 'md'),
    note(2, 'a', 'md'),
  ];
  t.same([...ascending].reverse().sort(oldestFirst), ascending);
});

const anyNote = fc.record({
  createdAt: fc.integer({ min: -2, max: 2 }),
  id: fc.constantFrom('a', 'b', '\ud800', '\u{1f600}') as fc.Arbitrary<NoteId>,
  type: fc.constantFrom(...NOTE_TYPES),
});

t.test('the order is total', async () => {
  fc.assert(
    fc.property(anyNote, anyNote, anyNote, (a, b, c) => {
      const same = a.createdAt === b.createdAt && a.id === b.id && a.type === b.type;
      return (
        (oldestFirst(a, b) === 0) === same &&
        Math.sign(oldestFirst(a, b)) === -Math.sign(oldestFirst(b, a)) + 0 &&
        !(oldestFirst(a, b) < 0 && oldestFirst(b, c) < 0 && oldestFirst(a, c) >= 0)
      );
    }),
  );
});

t.test('a position has the place of its note', async (t) => {
  const of = note(7, 'a', 'gif');
  t.equal(oldestFirst(sortKeyOf({ createdAt: 7, file: noteFile(of.id, of.type) }), of), 0);
  t.throws(() => sortKeyOf({ createdAt: 7, file: 'a' as NoteFile }), TypeError);
});
