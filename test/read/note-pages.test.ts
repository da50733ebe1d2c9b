import t from 'tap';
import type { NoteFile, NoteId } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import { withinBudget } from '../../src/read/note-pages.ts';

/** Notes with texts of these sizes, newest first; undefined is a picture. */
function notes(...sizes: (number | undefined)[]): Note[] {
  return sizes.map((size, index) => ({
    id: `note ${index}` as NoteId,
    type: size === undefined ? 'png' : 'md',
    size: size ?? 1000,
    createdAt: 1000 - index,
    modifiedAt: 1000,
    meta: { tags: [] },
    content: size === undefined ? undefined : Buffer.alloc(size),
  }));
}

const END = { createdAt: 1, file: 'end.md' as NoteFile };

const cases: [what: string, sizes: (number | undefined)[], kept: number][] = [
  ['no notes', [], 0],
  ['texts that fill the budget', [4, 6], 2],
  ['a text beyond the budget', [4, 6, 1], 2],
  ['a note larger than the budget, first', [11, 1], 1],
  ['a note larger than the budget, later', [1, 11], 1],
  ['empty texts and pictures beyond a full budget', [10, 0, undefined, 0], 4],
  ['a picture before a text beyond the budget', [10, undefined, 1], 2],
  ['a small text behind one beyond the budget', [6, 6, 1], 1],
];

for (const [what, sizes, kept] of cases)
  t.test(what, async (t) => {
    const all = notes(...sizes);
    for (const next of [END, undefined]) {
      const page = withinBudget({ notes: all, next }, 10);
      t.strictSame(page.notes, all.slice(0, kept));
      const last = all[kept - 1];
      const after = last && { createdAt: last.createdAt, file: `${last.id}.${last.type}` };
      t.strictSame(page.next, kept < all.length ? after : next);
    }
  });
