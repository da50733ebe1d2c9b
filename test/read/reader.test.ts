/** The reader over a storage that counts: what is answered from the cache, and for whom it is kept. */
import t from 'tap';
import type { Feed } from '../../src/feeds/feed.ts';
import type { FeedName, NoteId, ReadId } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import type { Answer } from '../../src/http/answer.ts';
import { httpDate, settledAt } from '../../src/http/conditional.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { ReadCache } from '../../src/read/cache.ts';
import { FileBodies } from '../../src/read/file-bodies.ts';
import { unrendered } from '../../src/read/note-html.ts';
import { Reader } from '../../src/read/reader.ts';
import type { Renderer } from '../../src/read/renderer.ts';
import { ViewMaker } from '../../src/read/view-maker.ts';
import type { ViewTask } from '../../src/read/views/compose.ts';
import { compose, withNotes } from '../../src/read/views/compose.ts';
import type { OperatorRecord } from '../../src/storage/operator-records.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { FileReplaced } from '../../src/storage/stored-file.ts';
import type { WorkerPool } from '../../src/worker-pool.ts';
import { siteWith } from '../support/site.ts';

const READ_ID = 'read-id' as ReadId;
const FEED: Feed = {
  key: '1',
  name: 'key' as FeedName,
  readId: READ_ID,
  title: '',
  description: '',
  showSender: true,
  listed: false,
  image: undefined,
  passwordHash: undefined,
  license: undefined,
  keepDays: undefined,
  keepNotes: undefined,
  changedAt: 1_700_000_000_000,
  version: '1',
  noteCount: 1,
  imageCount: 0,
  byteCount: 9,
  isBlocked: false,
};
const NOTE: Note = {
  id: 'note' as NoteId,
  type: 'md',
  size: 4,
  createdAt: 1_700_000_000_000,
  modifiedAt: 1_700_000_000_000,
  meta: { tags: [] },
  content: Buffer.from('text'),
};

/** Shows all notes as their text. */
const rendering =
  (isComplete: boolean): Renderer['render'] =>
  async (task) => {
    const notes = task.document.notes.map((note) => ({ ...note, rendered: unrendered(note.content!) }));
    return { task: withNotes(task, notes), composed: undefined, isComplete };
  };

/** All texts have titles. */
const titled: Renderer['titled'] = async (notes) => ({
  notes: notes.map((note) => ({ ...note, rendered: { title: 'title' } })),
  isComplete: true,
});

const MIB = 1024 * 1024;

/** A reader of one feed, and how often it asked the storage for notes. */
function counted({
  notes = [NOTE],
  cacheBytes = MIB,
  render = rendering(true),
  isCurrent = true,
  stat = async () => {
    throw new Error('the store is away');
  },
}: {
  notes?: readonly Note[];
  cacheBytes?: number;
  render?: Renderer['render'];
  isCurrent?: boolean;
  stat?: Storage['stat'];
} = {}) {
  const counts = { pages: 0, searches: 0 };
  const storage = {
    records: { find: async () => [] as readonly OperatorRecord[] },
    feedByReadId: async (readId: ReadId) => (readId === READ_ID ? FEED : undefined),
    page: async () => ({ notes, next: undefined }),
    note: async () => notes[0],
    stat,
    neighbours: async () => ({ older: undefined, newer: undefined, expires: Number.POSITIVE_INFINITY }),
    search: async () => {
      counts.searches += 1;
      return { notes, next: undefined, isCurrent };
    },
    tags: async () => {
      counts.searches += 1;
      return [{ tag: 'a', count: 1 }];
    },
    pageByReadId: async (readId: ReadId) => {
      counts.pages += 1;
      return readId === READ_ID ? { feed: FEED, notes, next: undefined } : undefined;
    },
  } as unknown as Storage;
  const cache = new ReadCache(cacheBytes);
  const reader = new Reader({
    hubs: [],
    storage,
    matches: { find: async (_, notes) => notes.map(() => ({ text: 'x', marks: [] })) },
    cache,
    renderer: { render, titled } as Partial<Renderer> as Renderer,
    views: new ViewMaker({
      run: async (_, { task }: ViewTask) => compose(task),
    } as Partial<WorkerPool> as WorkerPool),
    files: new FileBodies(storage, cache.largestEntry),
    serviceTitle: 'Notes',
    site: siteWith(),
  });
  return { reader, cache, counts };
}

function request(base: string, readId: string = READ_ID, query: Record<string, string> = {}): Exchange {
  return {
    base,
    isHead: false,
    parameters: [readId],
    query: (name: string) => query[name],
    header: () => undefined,
  } as unknown as Exchange;
}

const text = (answer: Answer) => Buffer.from(answer.body as Uint8Array).toString();

t.test('200 made-up Hosts push nothing out of the cache and fill it with little', async (t) => {
  const { reader, cache, counts } = counted();
  const mine = request('http://notes.example');
  const answer = await reader.syndication(mine, 'rss');
  await reader.publicFeed(mine);
  const alone = cache.size;
  for (let i = 0; i < 200; i += 1) {
    const madeUp = request(`http://made-up-${i}.example`);
    t.match(text(await reader.syndication(madeUp, 'rss')), `http://made-up-${i}.example/r/`);
    await reader.publicFeed(madeUp);
  }
  const { pages } = counts;
  t.equal(reader.syndication(mine, 'rss'), answer, 'the very answer of before, at once');
  t.equal(counts.pages, pages);
  t.ok(cache.size < 10 * alone + MIB / 8, `${cache.size} bytes are held`);
});

t.test('a Host in use keeps its place, even where all its answers come from the cache', async (t) => {
  let now = 0;
  t.intercept(Date, 'now', { value: () => now });
  const { reader, counts } = counted();
  const mine = request('http://notes.example');
  await reader.syndication(mine, 'rss');
  for (let minute = 0; minute < 5; minute += 1) {
    now += 61_000;
    await reader.syndication(mine, 'rss');
    for (let i = 0; i < 20; i += 1)
      await reader.syndication(request(`http://made-up-${minute}-${i}.example`), 'rss');
  }
  await reader.syndication(mine, 'json-feed');
  const { pages } = counts;
  await reader.syndication(mine, 'json-feed');
  t.equal(counts.pages, pages, 'a new view is kept for it');
});

t.test('a Host out of use gives its place to another', async (t) => {
  let now = 0;
  t.intercept(Date, 'now', { value: () => now });
  const { reader, counts } = counted();
  for (let i = 0; i < 20; i += 1) await reader.syndication(request(`http://old-${i}.example`), 'rss');
  now += 61_000;
  await reader.syndication(request('http://new.example'), 'rss');
  const { pages } = counts;
  await reader.syndication(request('http://new.example'), 'rss');
  t.equal(counts.pages, pages);
});

t.test('a feed is kept by the default cache, however much its texts grow in it', async (t) => {
  const content = Buffer.alloc(100 * 1024, '&<');
  const { reader, counts } = counted({
    notes: Array(50).fill({ ...NOTE, content }),
    cacheBytes: 64 * MIB,
  });
  const mine = request('http://notes.example');
  const views = [
    () => reader.syndication(mine, 'rss'),
    () => reader.syndication(mine, 'json-feed'),
    () => reader.publicList(mine),
  ];
  for (const [index, view] of views.entries()) {
    await view();
    const { pages } = counts;
    await view();
    t.equal(counts.pages, pages, `view ${index}`);
  }
});

t.test('a view of texts that were not rendered in time shows them as text, and is not kept', async (t) => {
  const { reader, cache } = counted({ render: rendering(false) });
  const mine = request('http://notes.example');
  t.match(
    text(await reader.syndication(mine, 'rss')),
    '<content:encoded>&lt;pre&gt;text&lt;/pre&gt;</content:encoded>',
  );
  t.equal(cache.size, 0);
});

t.test('a page shows a picture that cannot be read now, without its size', async (t) => {
  const picture: Note = { ...NOTE, type: 'png', content: undefined };
  const render: Renderer['render'] = async (task) => ({ task, composed: undefined, isComplete: true });
  const page = text(
    await counted({ notes: [picture], render }).reader.readPage(request('http://notes.example')),
  );
  t.match(page, /<img src="[^"]*note.png" loading/);
});

t.test('a file that was replaced since it was looked at is looked at again', async (t) => {
  let looks = 0;
  const stat = async () => {
    looks += 1;
    const [bytes, isReplaced] = [Buffer.from(`look ${looks}`), looks === 1];
    const read = async function* (start: number, end: number) {
      if (isReplaced) throw new FileReplaced();
      yield bytes.subarray(start, end);
    };
    return { size: bytes.length, modifiedAt: looks, sha256: String(looks), expires: undefined, read };
  };
  const asked = { ...request('http://notes.example'), parameters: [READ_ID, 'a.png'] } as unknown as Exchange;
  t.equal(text(await counted({ stat }).reader.file(asked)), 'look 2');
});

t.test('a view that may change without its feed has no date', async (t) => {
  const expiring: Note = { ...NOTE, meta: { tags: [], expires: Date.now() + 3_600_000 } };
  const mine = request('http://notes.example');
  for (const [options, isDated] of [
    [{}, true],
    [{ render: rendering(false) }, false],
    [{ notes: [expiring] }, false],
  ] as const) {
    const { headers } = await counted(options).reader.syndication(mine, 'rss');
    t.equal(headers.lines.join().includes('Last-Modified'), isDated);
  }
});

t.test('a feed of nothing but notes that views leave out is read once', async (t) => {
  const unlisted: Note = { ...NOTE, type: 'png', meta: { tags: [], unlisted: true }, content: undefined };
  const { reader, counts } = counted({ notes: [unlisted] });
  for (let i = 0; i < 2; i += 1)
    t.notMatch(text(await reader.syndication(request('http://notes.example'), 'rss')), '<item>');
  t.equal(counts.pages, 1);
  const tagged = request('http://notes.example', READ_ID, { tag: 'made-up' });
  for (let i = 0; i < 2; i += 1) await reader.syndication(tagged, 'rss');
  t.equal(counts.pages, 3, 'but there is any number of tags');
});

t.test('read ids that nobody has fill nothing', async (t) => {
  const { reader, cache } = counted();
  for (let i = 0; i < 200; i += 1) {
    const unknown = request('http://notes.example', `unknown-${i}`);
    for (const view of ['rss', 'json-feed'] as const) await reader.syndication(unknown, view);
    for (const view of ['publicList', 'publicFeed', 'publicTags'] as const) await reader[view](unknown);
  }
  t.equal(cache.size, 0);
});

t.test('places that nobody was given fill nothing', async (t) => {
  const { reader, cache } = counted();
  for (let i = 0; i < 200; i += 1) {
    const page = await reader.publicList(
      request('http://notes.example', READ_ID, { before: `zzzzzzz${i}.a.md` }),
    );
    t.equal(JSON.parse(text(page)).notes.length, 1);
  }
  t.equal(cache.size, 0);
});

const VIEWS = ['publicList', 'readPage'] as const;

t.test('searches are kept, and any number of them pushes out no other view', async (t) => {
  const { reader, cache, counts } = counted();
  const mine = request('http://notes.example');
  const list = await reader.publicList(mine);
  const alone = cache.size;
  const asked = (q: string) => request('http://notes.example', READ_ID, { q });
  for (const view of VIEWS) {
    await reader[view](asked('fox'));
    const { searches } = counts;
    await reader[view](asked('fox'));
    t.equal(counts.searches, searches, view);
  }
  for (let i = 0; i < 200; i += 1) {
    for (const view of VIEWS) await reader[view](asked(`fox${i}`));
    await reader.publicList(
      request('http://notes.example', READ_ID, { from: '2020-01-01', to: `${2030 + i}-01-01` }),
    );
    await reader.publicTags(asked(`a${i}`));
  }
  t.equal(reader.publicList(mine), list, 'the very answer of before, at once');
  t.ok(cache.size < alone + MIB / 8, `${cache.size} bytes are held`);
});

t.test('a search of an index that is behind is kept for 200 ms', async (t) => {
  let now = 1_800_000_000_000;
  t.intercept(Date, 'now', { value: () => now });
  for (const [isCurrent, expected] of [
    [false, [1, 1, 2]],
    [true, [1, 1, 1]],
  ] as const) {
    const { reader, counts } = counted({ isCurrent });
    const asked = request('http://notes.example', READ_ID, { q: 'fox' });
    const searches: number[] = [];
    for (const wait of [0, 199, 1]) {
      now += wait;
      const { headers } = await reader.publicList(asked);
      searches.push(counts.searches);
      const lines = headers.lines.join();
      t.match(lines, isCurrent ? 'public, max-age=60' : 'public, max-age=0, must-revalidate');
      t.equal(lines.includes('Last-Modified'), isCurrent);
    }
    t.same(searches, expected);
  }
});

t.test('requests for the same search share one', async (t) => {
  const { reader, counts } = counted();
  const asked = request('http://notes.example', READ_ID, { q: 'fox' });
  await Promise.all(Array.from({ length: 20 }, () => reader.publicList(asked)));
  t.equal(counts.searches, 1);
});

/** What shows notes by the name of their feed. */
const NAMED: ((reader: Reader, asked: Exchange, feed: Feed) => Promise<Answer>)[] = [
  (reader, asked, feed) => reader.namedList(asked, { name: feed.name, feed }),
  (reader, asked, feed) => reader.namedNote(asked, feed, NOTE.id),
  (reader, asked, feed) => reader.feedPage(asked, { name: feed.name, feed }, undefined),
  (reader, asked, feed) => reader.notePage(asked, feed, NOTE.id, undefined),
];

t.test(
  'a view by name is never shown for another name, though the read id has gone over to it',
  async (t) => {
    const { reader, counts } = counted();
    const other: Feed = { ...FEED, key: '2', name: 'other' as FeedName };
    const here = request('http://notes.example');
    for (const view of NAMED) {
      t.match(text(await view(reader, here, FEED)), '/key/');
      t.notMatch(text(await view(reader, here, other)), '/key/');
    }
    for (const feed of [FEED, other]) await reader.namedTags(here, { name: feed.name, feed });
    t.equal(counts.searches, 2, 'nor are its tags');
  },
);

t.test('a list within fewer bytes is another list', async (t) => {
  const { reader } = counted({ notes: [NOTE, { ...NOTE, id: 'second' as NoteId }] });
  const list = async (maxBytes?: number) =>
    JSON.parse(
      text(
        await reader.namedList(request('http://notes.example'), { name: FEED.name, feed: FEED }, maxBytes),
      ),
    );
  for (const [maxBytes, count] of [
    [undefined, 2],
    [5, 1],
  ] as const)
    t.equal((await list(maxBytes)).notes.length, count);
});

t.test(
  'a view by name of a feed that changed after its admission is not taken for one of before',
  async (t) => {
    const { reader } = counted();
    const changed: Feed = { ...FEED, changedAt: FEED.changedAt + 60_000, version: '2' };
    const here = request('http://notes.example');
    const since = httpDate(settledAt(FEED.changedAt));
    const later = {
      ...here,
      header: (name: string) => (name === 'if-modified-since' ? since : undefined),
    } as unknown as Exchange;
    for (const view of NAMED) {
      // It was admitted before the change, while its password was checked, and reads the notes after it.
      await view(reader, here, FEED);
      t.equal((await view(reader, later, changed)).status, 200);
    }
  },
);

t.test('a list of tags is kept for a second, because a note of them may expire', async (t) => {
  let now = Date.now();
  t.intercept(Date, 'now', { value: () => now });
  const { reader, counts } = counted();
  const look = async () => reader.publicTags(request('http://notes.example'));
  for (const [ms, searches] of [
    [0, 1],
    [999, 1],
    [1, 2],
  ] as const) {
    now += ms;
    await look();
    t.equal(counts.searches, searches);
  }
});
