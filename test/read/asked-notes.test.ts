/** The notes that a request asks for, over an index that may be out of date. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { Feed } from '../../src/feeds/feed.ts';
import { type NoteId, noteFile, type ReadId } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import type { Position } from '../../src/feeds/order.ts';
import { AskedNotes } from '../../src/read/asked-notes.ts';
import { notesQuery } from '../../src/read/page-query.ts';
import { type NoteSearch, PAGE_TEXT_BYTES, type PageQuery, type Storage } from '../../src/storage/storage.ts';

const READ_ID = 'read-id' as ReadId;
const feed = { name: 'feed', key: '1', noteCount: 1, readId: READ_ID } as unknown as Feed;

/** Notes, newest first. One that is not found is in the index, but has other words by now. */
function notesOf(samples: readonly { isFound: boolean; createdAt: number; size?: number }[]): Note[] {
  return samples
    .map(({ isFound, createdAt, size = 0 }, n) => ({
      id: `note-${String(n).padStart(4, '0')}` as NoteId,
      type: 'md' as const,
      size: 1,
      createdAt,
      modifiedAt: 1,
      meta: { tags: [] },
      content: Buffer.from((isFound ? 'fox' : 'hare').padEnd(size)),
    }))
    .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
}

function storageOf(all: readonly Note[], isCurrent = true) {
  const calls = { page: 0, search: 0 };
  const isAfter = (one: Note, { createdAt, file }: Position) =>
    one.createdAt < createdAt || (one.createdAt === createdAt && noteFile(one.id, one.type) < file);
  const pageOf = (among: readonly Note[], { limit, before }: PageQuery) => {
    assert(limit >= 1 && limit <= 100);
    const from = among.filter((one) => !before || isAfter(one, before));
    const notes = from.slice(0, limit);
    const last = notes.at(-1);
    const next = notes.length < from.length && last;
    return {
      notes,
      next: next ? { createdAt: next.createdAt, file: noteFile(next.id, next.type) } : undefined,
    };
  };
  const storage = {
    page: async (_, query) => {
      calls.page += 1;
      return pageOf(all, query);
    },
    search: async (_, { from = -Infinity, to = Infinity, ...query }: NoteSearch) => {
      calls.search += 1;
      const indexed = all.filter(({ createdAt }) => createdAt >= from && createdAt <= to);
      return { ...pageOf(indexed, query), isCurrent };
    },
  } as Pick<Storage, 'page' | 'search'> as Storage;
  return { storage, calls };
}

const matches = {
  find: async (_: unknown, notes: readonly Note[]) =>
    notes.map(({ content }) => (`${content}`.startsWith('fox') ? { text: 'fox', marks: [] } : undefined)),
};

/** All pages that follow each other. */
async function pagesOf(storage: Storage, query: Record<string, string>, limit: number) {
  const pages: NoteId[][] = [];
  let before: Position | undefined;
  do {
    const request = { ...notesQuery({ query: (name) => query[name] }), limit, before };
    const page = await new AskedNotes({ storage, matches }, READ_ID, request).first(feed);
    pages.push(page.notes.map(({ id }) => id));
    before = page.next;
  } while (before !== undefined);
  return pages;
}

const iso = (time: number) => new Date(time).toISOString();
const sample = fc.record({ isFound: fc.boolean(), createdAt: fc.integer({ min: 0, max: 8 }) });

t.test('pages have each note that is asked for once, newest first, whatever else the index has', async () => {
  const time = fc.option(fc.integer({ min: -1, max: 9 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(
      fc.array(sample, { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      fc.boolean(),
      time,
      time,
      async (samples, limit, isSearch, from, to) => {
        const all = notesOf(samples);
        const query = {
          ...(isSearch && { q: 'fox' }),
          ...(from !== undefined && { from: iso(from) }),
          ...(to !== undefined && { to: iso(to) }),
        };
        const pages = await pagesOf(storageOf(all).storage, query, limit);
        const isAsked = ({ createdAt, content }: Note) =>
          createdAt >= (from ?? 0) && createdAt <= (to ?? 9) && (!isSearch || `${content}` === 'fox');
        assert.deepEqual(
          pages.flat(),
          all.filter(isAsked).map(({ id }) => id),
        );
        for (const page of pages) assert(page.length <= limit);
      },
    ),
    { numRuns: 500 },
  );
});

t.test('a page of hits costs one search, and goes on for some more where they are out of date', async (t) => {
  const first = async (isFound: (n: number) => boolean, limit = 50) => {
    const all = notesOf(Array.from({ length: 1000 }, (_, n) => ({ isFound: isFound(n), createdAt: n })));
    const { storage, calls } = storageOf(all);
    const request = {
      ...notesQuery({ query: (name) => (name === 'q' ? 'fox' : undefined) }),
      limit,
      before: undefined,
    };
    const { notes, next } = await new AskedNotes({ storage, matches }, READ_ID, request).first(feed);
    return { notes: notes.length, isLast: next === undefined, ...calls };
  };
  t.same(await first(() => true), { notes: 50, isLast: false, page: 0, search: 1 });
  t.same(await first(() => true, 1), { notes: 1, isLast: false, page: 0, search: 1 });
  t.same(await first((n) => n % 2 === 0), { notes: 50, isLast: false, page: 0, search: 4 });
  t.same(await first(() => false), { notes: 0, isLast: false, page: 0, search: 8 });
});

t.test('a page of hits ends where its texts are long', async (t) => {
  const size = PAGE_TEXT_BYTES / 2;
  const all = notesOf(Array.from({ length: 8 }, (_, n) => ({ isFound: true, createdAt: n, size })));
  const pages = await pagesOf(storageOf(all).storage, { q: 'fox' }, 50);
  t.same(
    pages.map(({ length }) => length),
    [3, 3, 2],
  );
});

t.test('it says whether the index is behind, and what can be made up', async (t) => {
  const asked = (query: Record<string, string>, isCurrent: boolean) => {
    const { storage } = storageOf(notesOf([{ isFound: true, createdAt: 1 }]), isCurrent);
    const request = { ...notesQuery({ query: (name) => query[name] }), limit: 1, before: undefined };
    return new AskedNotes({ storage, matches }, READ_ID, request);
  };
  for (const isCurrent of [true, false]) {
    const search = asked({ q: 'fox' }, isCurrent);
    t.match((await search.first(feed)).notes, [{ match: { text: 'fox' } }]);
    t.equal(search.isCurrent, isCurrent);
  }
  t.same(
    [{}, { tag: 'a' }, { q: 'a' }, { from: '2026-01-31' }, { to: '2026-01-31' }].map(
      (query) => asked(query, true).isMadeUp,
    ),
    [false, false, true, true, true],
  );
});

t.test('a page from a later time than to is empty and asks nobody', async (t) => {
  const { storage, calls } = storageOf(notesOf([{ isFound: true, createdAt: 1 }]));
  t.same(await pagesOf(storage, { from: '2026-02-01', to: '2026-01-31' }, 5), [[]]);
  t.same(await pagesOf(storage, { from: '2026-02-01', to: '2026-01-31', q: 'fox' }, 5), [[]]);
  t.same(calls, { page: 0, search: 0 });
});
