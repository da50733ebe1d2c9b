/** The data folder is away for a moment, as while its disk is mounted again: at the first call of the system, at the second, and so on. */
import './system-calls.ts';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import type { FeedName, NoteFile, NoteId } from '../../src/feeds/names.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type Command, toFeed } from '../../src/writing/command.ts';
import { NO_LIMITS } from '../../src/writing/limits.ts';
import { Computer } from './computer.ts';
import { openOn } from './opening.ts';
import { ROOT, runOn } from './system-calls.ts';

const DATA = `${ROOT}/data`;
const name = 'feed' as FeedName;
const [TEXT, PICTURE, NEW] = [
  '20260101T000000Z-019b76da-a800-7000-8000-000000000000',
  '20260101T000001Z-019b76da-abe8-7000-8000-000000000000',
  '20260102T000000Z-019b7c01-0400-7000-8000-000000000000',
] as [NoteId, NoteId, NoteId];
/** For how many calls the folder is away, by turns: after 1 a second look finds the file, after 4 some second looks fail, too. */
const AWAY_FOR = [1, 4];

function start(t: Test): Computer {
  const computer = new Computer(1, DATA);
  runOn(computer);
  t.teardown(() => runOn(undefined));
  return computer;
}

const later = (computer: Computer, ms: number) =>
  computer.until(new Promise<void>((resolve) => computer.time.after(ms, resolve)));

/** Puts all that a feed can have in its folder, with notes whose names say their dates and one whose name does not. */
function placeFeed({ disk }: Computer, folder: string): void {
  const place = (file: string, text: string) =>
    disk.placeByHand(`${DATA}/${folder}/${file}`, Buffer.from(text));
  place('.readid', `read-id-${folder.replace('.', '')}`);
  place('.password', 'hash');
  place('.feed.json', '{"title":"T"}');
  const notes = [`${TEXT}.md`, `${PICTURE}.png`, 'by hand.md'];
  for (const [n, file] of notes.entries()) {
    place(file, 'bytes');
    place(
      `.${file}.json`,
      JSON.stringify({ title: `${n}`, tags: ['tag'], key: `${n}`, posted: { hash: `${n}` } }),
    );
  }
}

/** Takes the data folder away at the nth call, and brings it back a few calls later. The function returned counts the calls so far. */
function letGo(computer: Computer, nth: number): () => number {
  let count = 0;
  const calls = AWAY_FOR[nth % AWAY_FOR.length]!;
  computer.failing = {
    test() {
      count += 1;
      computer.disk.isAway = count >= nth && count < nth + calls;
      return false;
    },
  };
  return () => count;
}

async function bringBack(computer: Computer): Promise<void> {
  computer.failing = undefined;
  computer.disk.isAway = false;
  await later(computer, 3_000);
}

/** A feed as readers and writers see it. */
async function shown(storage: Storage, feed: FeedName): Promise<unknown> {
  const record = await storage.feed(feed);
  const page = record && (await storage.page(record, { limit: 9 }));
  return [
    [record?.readId, record?.passwordHash, record?.title, record?.noteCount, record?.isBlocked],
    page?.notes.map(({ id, meta, content }) => [id, meta, content && String(Buffer.from(content))]),
    await storage.records.find('picture', ['known', 'new']),
  ];
}

/** Posts with a key. */
async function postKeyed(storage: Storage, feed: FeedName, key: string): Promise<unknown> {
  const note = {
    id: NEW,
    type: 'md',
    bytes: Buffer.from('bytes'),
    meta: { tags: [], key, posted: { hash: key } },
  } as const;
  const record = (await storage.feed(feed))!;
  return (await storage.write({ kind: 'post', ...toFeed(record), notes: [note], limits: NO_LIMITS }))?.feed
    .noteCount;
}

t.test('what came by hand shows whole, with its keys and its password', async (t) => {
  const feeds = ['before', 'after'] as FeedName[];
  const run = async (nth: number) => {
    const computer = start(t);
    for (const folder of ['before', '.after']) computer.disk.makeFolder(`${DATA}/${folder}`);
    placeFeed(computer, 'before');
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await later(computer, 2_000);
    const count = letGo(computer, nth);
    // All of its files are seen to have changed, so they are looked at one by one; those of the other are read as a folder.
    placeFeed(computer, 'before');
    placeFeed(computer, '.after');
    computer.disk.renameByHand(`${DATA}/.after`, `${DATA}/after`);
    await later(computer, 1_000);
    const calls = count();
    await bringBack(computer);
    const found: unknown[] = [];
    for (const feed of feeds) {
      found.push(await computer.until(shown(storage, feed)));
      for (const key of ['0', '1', '2']) found.push(await computer.until(postKeyed(storage, feed, key)));
    }
    return { found, calls };
  };
  const { found: expected, calls } = await run(Number.POSITIVE_INFINITY);
  t.match(expected, [
    [['read-id-before', 'hash', 'T', 3, false]],
    3,
    3,
    3,
    [['read-id-after', 'hash', 'T', 3, false]],
    3,
    3,
    3,
  ]);
  for (let nth = 1; nth <= calls; nth += 1)
    t.same((await run(nth)).found, expected, `away at the call ${nth}`);
});

const write = (fields: object) => async (storage: Storage) => {
  const command = { ...toFeed((await storage.feed(name))!), limits: NO_LIMITS, notes: [], ...fields };
  return (await storage.write(command as unknown as Command))?.feed.noteCount;
};
const read =
  (look: (storage: Storage, feed: NonNullable<Awaited<ReturnType<Storage['feed']>>>) => Promise<unknown>) =>
  async (storage: Storage) =>
    look(storage, (await storage.feed(name))!);

const NEW_NOTE = { id: NEW, type: 'md', bytes: Buffer.from('new'), meta: { tags: ['new'] } };
const RECORD = { value: 'a reason', at: 1 };
/** How long a series of tokens lasts, ms. */
const SERIES_MS = 1_000_000_000;

const WORK: Record<string, (storage: Storage) => Promise<unknown>> = {
  'a page': (storage) => shown(storage, name),
  'a page of a tag': read(async (storage, feed) => {
    const { notes } = await storage.page(feed, { limit: 9, tag: 'tag' });
    return notes.map(({ id }) => id);
  }),
  'a note': read(async (storage, feed) => (await storage.note(feed, TEXT))?.meta),
  'a picture': read(async (storage, feed) => (await storage.stat(feed, `${PICTURE}.png` as NoteFile))?.size),
  'the bytes of a picture': read(async (storage, feed) => {
    const file = (await storage.stat(feed, `${PICTURE}.png` as NoteFile))!;
    return String(await buffer(file.read(0, file.size)));
  }),
  tags: read((storage, feed) => storage.tags(feed, '')),
  arrivals: read(async (storage, feed) =>
    (await storage.arrivals(feed, undefined, 9))?.notes.map(({ id }) => id),
  ),
  'a post': write({ kind: 'post', notes: [NEW_NOTE] }),
  'a post with a known key': (storage) => postKeyed(storage, name, '0'),
  'new bytes': write({ kind: 'replace', id: TEXT, content: { type: 'md', bytes: Buffer.from('new') } }),
  'a description': write({ kind: 'describe', id: TEXT, meta: { title: 'new' } }),
  'a removal': write({ kind: 'remove', id: TEXT }),
  'other settings': write({ kind: 'configure', settings: { title: 'new' } }),
  'another read id': write({ kind: 'configure', settings: { readId: 'another-read-id' } }),
  'another password': write({ kind: 'set password', passwordHash: 'another' }),
  'a sweep': write({ kind: 'sweep' }),
  'an import': write({ kind: 'import', notes: [NEW_NOTE, { ...NEW_NOTE, id: TEXT }] }),
  'the look for a closed picture': ({ records }) => records.find('picture', ['known', 'new']),
  'a closed picture': ({ records }) => records.add({ kind: 'picture', key: 'new', ...RECORD }),
  'an opened picture': ({ records }) => records.remove('picture', 'known'),
  'a closed name': ({ records }) => records.add({ kind: 'name', key: name, ...RECORD }),
  'a used token': (storage) => storage.useToken('series', 0, Date.now() + SERIES_MS),
  'the next token': (storage) => storage.useToken('series', 1, Date.now() + SERIES_MS),
};

for (const [title, work] of Object.entries(WORK))
  t.test(`${title} is refused, or whole`, async (t) => {
    const run = async (nth: number, work: (storage: Storage) => Promise<unknown>) => {
      const computer = start(t);
      computer.disk.makeFolder(`${DATA}/${name}`);
      placeFeed(computer, name);
      const storage = (await computer.until(openOn(computer, DATA)))!;
      await computer.until(storage.records.add({ kind: 'picture', key: 'known', ...RECORD }));
      await computer.until(storage.useToken('series', 0, computer.time.now + SERIES_MS));
      await later(computer, 2_000);
      const count = letGo(computer, nth);
      const result = await computer.until(work(storage)).catch(({ code }) => code);
      const calls = count();
      await bringBack(computer);
      const after = await computer.until(shown(storage, name));
      computer.restart(false);
      const again = (await computer.until(openOn(computer, DATA)))!;
      return { result, calls, after, restarted: await computer.until(shown(again, name)) };
    };
    const { after: before } = await run(Number.POSITIVE_INFINITY, async () => {});
    const calm = await run(Number.POSITIVE_INFINITY, work);
    for (let nth = 1; nth <= calm.calls; nth += 1) {
      const { result, after, restarted } = await run(nth, work);
      const isRefused = result === 'store_unavailable';
      t.same(
        { result: isRefused || result, after, restarted },
        isRefused
          ? { result: true, after: before, restarted: before }
          : { result: calm.result, after: calm.after, restarted: calm.after },
        `away at the call ${nth}`,
      );
    }
  });

t.test('a start is refused, or finds all', async (t) => {
  const run = async (nth: number) => {
    const computer = start(t);
    computer.disk.makeFolder(`${DATA}/${name}`);
    placeFeed(computer, name);
    const count = letGo(computer, nth);
    const storage = await computer.until(openOn(computer, DATA)).catch(({ code }) => code);
    const calls = count();
    await bringBack(computer);
    if (typeof storage === 'string') return { refused: storage, calls };
    const found = [await computer.until(shown(storage!, name))];
    for (const key of ['0', '1', '2']) found.push(await computer.until(postKeyed(storage!, name, key)));
    return { found, calls };
  };
  const { found: expected, calls } = await run(Number.POSITIVE_INFINITY);
  for (let nth = 1; nth <= calls; nth += 1) {
    const { found, refused } = await run(nth);
    if (refused) t.match(refused, /^(ENOENT|store_unavailable)$/);
    else t.same(found, expected, `away at the call ${nth}`);
  }
});
