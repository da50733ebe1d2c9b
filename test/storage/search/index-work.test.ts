import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import type { FeedName, NoteFile } from '../../../src/feeds/names.ts';
import { indexOfFolder } from '../../../src/storage/index-place.ts';
import { IndexWork, type NoteChange } from '../../../src/storage/search/index-work.ts';
import type { ListedNote, NoteSource, SourceNote } from '../../../src/storage/search/note-source.ts';
import { dataFolder } from '../files-support.ts';

t.test('a comparison that is begun anew, or not ended, leaves no list of notes open', async (t) => {
  const feed = 'large' as FeedName;
  let open = 0;
  const source: NoteSource = {
    feeds: () => [feed],
    // The list has no end, so no step comes to it.
    *list(): Generator<ListedNote> {
      open += 1;
      try {
        for (let n = 0; ; n += 1) yield { file: `${n}.md` as NoteFile, createdAt: n, version: 1 };
      } finally {
        open -= 1;
      }
    },
    read: () => undefined,
    close: () => {},
  };
  const file = indexOfFolder(await dataFolder(t));
  const work = new IndexWork({
    file,
    owner: undefined,
    openSource: () => source,
    textsOf: () => [],
    run: 1,
  });
  for (let n = 0; n < 3; n += 1) {
    t.notOk(work.compare([feed]).isDone);
    t.equal(open, 1);
  }
  work.close();
  t.equal(open, 0);
});

t.test('a comparison goes on while its feed is written to', async (t) => {
  const { source, begin } = await slowFeed(t);
  const work = begin(1);
  const compared = [...work.compare([FEED]).compared];
  for (let n = 0; n < 20 && compared.length === 0; n += 1) {
    const file = source.put(`new${n}`);
    work.update([{ feed: FEED, files: [file] }]);
    compared.push(...work.compare([]).compared);
  }
  t.same(compared, [FEED]);
  work.close();
});

t.test('a comparison finds what is gone, also if another note is removed meanwhile', async (t) => {
  const { source, begin, indexed } = await slowFeed(t);
  const before = begin(1);
  while (!before.compare([]).isDone);
  before.close();
  source.notes.delete('1.md' as NoteFile);
  const work = begin(2);
  t.notOk(work.compare([]).isDone);
  const file = '2.md' as NoteFile;
  source.notes.delete(file);
  work.update([{ feed: FEED, files: [file] }]);
  while (!work.compare([]).isDone);
  work.close();
  t.equal(indexed(), source.notes.size);
});

t.test('slow notes are left for further calls, which take at least one each', async (t) => {
  // Longer than `update` goes on for.
  const { source, begin, indexed } = await slowFeed(t, () => busyFor(110));
  const work = begin(1);
  let left: readonly NoteChange[] = [{ feed: FEED, files: ['a', 'b', 'c'].map(source.put) }];
  for (const files of [['b.md', 'c.md'], ['c.md']]) {
    ({ left } = work.update(left));
    t.same(left, [{ feed: FEED, files }]);
  }
  t.same(work.update(left).left, []);
  work.close();
  t.equal(indexed(), 3);
});

t.test('a feed that is asked for is compared although another one is written to', async (t) => {
  const { source, begin } = await slowFeed(t, (feed) => busyFor(feed === FEED ? 1 : 60));
  const work = begin(1);
  while (!work.compare([]).isDone);
  work.close();
  const again = begin(2);
  const other = 'other' as FeedName;
  const compared: FeedName[] = [...again.compare([FEED]).compared];
  let left: readonly NoteChange[] = [
    { feed: other, files: Array.from({ length: 100 }, (_, n) => source.put(`x${n}`)) },
  ];
  for (let n = 0; n < 30 && compared.length === 0; n += 1) {
    ({ left } = again.update(left));
    compared.push(...again.compare([]).compared);
  }
  t.same(compared, [FEED]);
  t.ok(left.length > 0, 'before the other one');
  again.close();
});

const FEED = 'busy' as FeedName;

function busyFor(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

/** A feed of which each listing takes several calls of `compare`. */
async function slowFeed(t: Test, whenRead: (feed: FeedName) => void = () => {}) {
  const file = indexOfFolder(await dataFolder(t));
  const notes = new Map<NoteFile, SourceNote>();
  const put = (id: string) => {
    const name = `${id}.md` as NoteFile;
    const content = Buffer.from(id);
    notes.set(name, { file: name, createdAt: 1, version: 1, meta: { tags: [] }, content });
    return name;
  };
  for (let n = 0; n < 200; n += 1) put(`${n}`);
  const source = {
    feeds: () => [FEED],
    *list(): Generator<ListedNote> {
      let n = 0;
      for (const note of [...notes.values()]) {
        n += 1;
        // Longer than `compare` goes on for.
        if (n % 64 === 0) busyFor(30);
        yield note;
      }
    },
    read: (feed: FeedName, name: NoteFile) => {
      whenRead(feed);
      return notes.get(name);
    },
    close: () => {},
  };
  const begin = (run: number) =>
    new IndexWork({ file, owner: undefined, openSource: () => source, textsOf: () => ['a'], run });
  const indexed = () => {
    const db = new Database(file, { readonly: true });
    const count = db.prepare('SELECT count(*) FROM notes').pluck().get();
    db.close();
    return count;
  };
  return { source: { notes, put }, begin, indexed };
}
