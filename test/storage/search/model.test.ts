import { deepEqual, equal } from 'node:assert/strict';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import type { FeedName, NoteFile } from '../../../src/feeds/names.ts';
import type { Position } from '../../../src/feeds/order.ts';
import { searchedAsWritten } from '../../../src/read/searched-note.ts';
import { findMatch, searchedTexts } from '../../../src/search/match.ts';
import { parseQuery } from '../../../src/search/query.ts';
import { byAge } from '../../../src/storage/search/chunks.ts';
import { IndexWork } from '../../../src/storage/search/index-work.ts';
import type { NoteSource, SourceNote } from '../../../src/storage/search/note-source.ts';
import { SearchWork } from '../../../src/storage/search/search-work.ts';
import type { NoteSearch } from '../../../src/storage/storage.ts';
import { times } from '../../support/effort.ts';
import { dataFolder } from '../files-support.ts';

t.setTimeout(600_000);

const FEEDS = ['feed-one', 'feed-two'] as FeedName[];
const TEXTS = ['one', 'two', 'one two', 'two one', 'one two three', 'onerous', '一二三', 'three one two one'];
const QUERIES = [
  'one',
  'on*',
  '"one two"',
  '"two one"',
  'two -one',
  'one -"one two"',
  'three',
  '二三',
  '三二',
  '"one tw*"',
];
const TAGS = ['a', 'b'];
const DATES = 6;

/** The notes of all feeds, in memory. */
class Model implements NoteSource {
  readonly #feeds = new Map<FeedName, Map<NoteFile, SourceNote>>();
  #version = 0;

  put(feed: FeedName, file: NoteFile, note: Pick<SourceNote, 'createdAt' | 'content' | 'meta'>): void {
    const notes = this.#feeds.get(feed) ?? new Map();
    this.#version += 1;
    this.#feeds.set(feed, notes.set(file, { ...note, file, version: this.#version }));
  }

  remove(feed: FeedName, file: NoteFile): void {
    this.#feeds.get(feed)?.delete(file);
  }

  feeds = () => this.#feeds.keys();
  list = (feed: FeedName) => [...(this.#feeds.get(feed)?.values() ?? [])];
  read = (feed: FeedName, file: NoteFile) => this.#feeds.get(feed)?.get(file);
  close() {}
}

const place = {
  feed: fc.constantFrom(...FEEDS),
  file: fc.nat(25).map((n) => `n${n}.md` as NoteFile),
};
const put = fc.record({
  ...place,
  kind: fc.constant('put' as const),
  createdAt: fc.nat(DATES).map((n) => 1_600_000_000_000 + n),
  text: fc.constantFrom(...TEXTS),
  tags: fc.subarray(TAGS),
  isTold: fc.boolean(),
});
const remove = fc.record({ ...place, kind: fc.constant('remove' as const), isTold: fc.boolean() });
const change = fc.oneof({ weight: 3, arbitrary: put }, { weight: 1, arbitrary: remove });
const asked = fc.record(
  {
    tag: fc.constantFrom(...TAGS),
    from: fc.nat(DATES).map((n) => 1_600_000_000_000 + n),
    to: fc.nat(DATES).map((n) => 1_600_000_000_000 + n),
  },
  { requiredKeys: [] },
);
const limits = fc.record({ notes: fc.integer({ min: 1, max: 8 }), words: fc.integer({ min: 1, max: 60 }) });

/** All that must be found, newest first. */
function expected(model: Model, feed: FeedName, { query, tag, from = 0, to = Infinity }: NoteSearch) {
  const isFound = (note: SourceNote) =>
    note.createdAt >= from &&
    note.createdAt <= to &&
    (tag === undefined || note.meta.tags.includes(tag)) &&
    findMatch(query, searchedAsWritten(note)) !== undefined;
  const found = model.list(feed).filter(isFound);
  return found.sort((a, b) => byAge(b, a)).map(({ file }) => file);
}

t.test('pages of the index have what is to be found, in order, and nothing twice', async (t) => {
  const dir = await dataFolder(t);
  let runs = 0;
  const batches = fc.array(fc.array(change, { maxLength: 25, size: 'max' }), { maxLength: 8, size: 'max' });
  await fc.assert(
    fc.property(batches, limits, asked, fc.integer({ min: 1, max: 5 }), (batches, limits, asked, limit) => {
      runs += 1;
      const model = new Model();
      const file = join(dir, `${runs}.search.db`);
      let run = 0;
      const begin = () => {
        run += 1;
        return new IndexWork({
          file,
          run,
          owner: undefined,
          limits: { ...limits, rows: 2 * limits.notes },
          textsOf: (_, note) => searchedTexts(searchedAsWritten(note)),
          openSource: () => model,
        });
      };
      let work = begin();
      const searching = new SearchWork(file);
      const finish = () => {
        while (!work.compare([]).isDone);
      };
      const pages = (feed: FeedName, search: NoteSearch) => {
        const all: Position[] = [];
        for (let before: Position | undefined; ; ) {
          const state = { run, isComplete: true, askedAt: Date.now() };
          const page = searching.find(feed, { ...search, before }, state)!;
          all.push(...page.positions);
          if (!page.next) return all;
          before = page.next;
        }
      };
      try {
        finish();
        for (const batch of batches) {
          for (const one of batch)
            if (one.kind === 'remove') model.remove(one.feed, one.file);
            else {
              const { createdAt, text, tags } = one;
              model.put(one.feed, one.file, { createdAt, content: Buffer.from(text), meta: { tags } });
            }
          work.update(
            batch.filter(({ isTold }) => isTold).map(({ feed, file }) => ({ feed, files: [file] })),
          );
          if (batch.length % 3 === 0) {
            work.close();
            work = begin();
          } else work.compare(batch.filter(({ isTold }) => !isTold).map(({ feed }) => feed));
          finish();
          for (const feed of FEEDS)
            for (const q of QUERIES) {
              const search = { query: parseQuery(q), limit, ...asked };
              const proposed = pages(feed, search);
              const hits = proposed.filter((one) =>
                findMatch(search.query, searchedAsWritten(model.read(feed, one.file)!)),
              );
              deepEqual(
                hits.map((one) => one.file),
                expected(model, feed, search),
              );
              equal(new Set(proposed.map((one) => one.file)).size, proposed.length);
            }
        }
      } finally {
        work.close();
        searching.close();
      }
    }),
    { numRuns: times(40, 2000) },
  );
});
