import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { dateOfId, derivedReadId, NoteIds } from '../../src/feeds/ids.ts';
import { type FeedName, type NoteFile, type NoteId, noteFile, type ReadId } from '../../src/feeds/names.ts';
import { oldestFirst } from '../../src/feeds/order.ts';
import { type Arrival, BEFORE_ALL, inOrderOfArrival } from '../../src/storage/arrivals.ts';
import { ArrivalLog } from '../../src/storage/files/arrival-log.ts';
import { DurableWriter, FolderSync } from '../../src/storage/files/durable.ts';
import { FeedIndex } from '../../src/storage/files/feed-index.ts';
import { IndexedFeed } from '../../src/storage/files/indexed-feed.ts';
import { isIntentName, isTempName } from '../../src/storage/files/names.ts';
import { type Entry, NoteList, unasked } from '../../src/storage/files/note-list.ts';
import { Reconciler } from '../../src/storage/files/reconciler.ts';
import { sameStamp, stampToKeep, UNSEEN, UNSURE } from '../../src/storage/files/stamp.ts';
import { TagIndex } from '../../src/storage/files/tag-index.ts';
import { KeyedLock } from '../../src/storage/keyed-lock.ts';
import {
  NO_SETTINGS,
  otherSettings,
  parseMeta,
  serializeMeta,
  serializeSettings,
  settingsIn,
} from '../../src/storage/metadata.ts';
import { Round } from '../../workers/round.ts';
import { feedName } from './contract.ts';
import { dataFolder, keptLog, SECRET } from './files-support.ts';

/** The folder of a feed, whose state does not matter. */
const FOLDER = { identity: '', createdAt: 0, changedAt: 0 };

function entry(n: number, createdAt = n): Entry {
  const id = `n${n}` as NoteId;
  return { id, type: 'md', file: noteFile(id, 'md'), createdAt, size: n, stamp: UNSEEN, meta: UNSEEN };
}

t.test('the log of what came forgets what is gone, and stays full once it was', async (t) => {
  const arrivalOf = async ({ id, createdAt }: Entry): Promise<Arrival> => ({ id, at: createdAt, date: 0 });
  const entries = Array.from({ length: 20_001 }, (_, n) => entry(n));
  const log = new ArrivalLog(0, entries.slice(0, 100));
  await log.after(BEFORE_ALL, 49, arrivalOf);
  log.add(entries.slice(100));
  t.equal(log.isFull, false);
  log.add([entry(20_001)]);
  t.equal(log.isFull, true);
  for (const { file } of entries.slice(1)) log.remove(file);
  t.equal(log.isFull, true, 'it lacks a note');
  t.equal(log.size, 1);
  t.same(await log.after(BEFORE_ALL, 49, arrivalOf), [{ id: 'n0', at: 0, date: 0 }]);

  const files = {
    storedReadId: undefined,
    settings: NO_SETTINGS,
    passwordHash: undefined,
    license: undefined,
  };
  const feed = new IndexedFeed(feedName('feed'), FOLDER, files);
  feed.arrivals = new ArrivalLog(0, []);
  feed.apply({ put: [entry(1), entry(2)] });
  feed.apply({ gone: [entry(1).file] });
  t.equal(feed.arrivals.size, 1, 'as a change of a feed tells it');
});

t.test('a note whose file changes while the log is made is told at once', async (t) => {
  const [before, changed] = [entry(1), { ...entry(1), stamp: { mtimeMs: 1, size: 1 } }];
  const log = new ArrivalLog(0, [before]);
  const arrivals = await log.after(BEFORE_ALL, 49, async (one) => {
    if (one === before) log.replace(changed);
    return { id: one.id, at: one.createdAt, date: 0 };
  });
  t.same(arrivals, [{ id: 'n1', at: 1, date: 0 }]);
});

t.test('what comes after the clock was set back is told after what was told before', async (t) => {
  const told = async (log: ArrivalLog, place: Arrival, until: number) => {
    const arrivals = await log.after(place, until, async (one) => {
      const at = one.arrivedAt ?? one.createdAt;
      return { id: one.id, at, date: at };
    });
    return arrivals.toSorted(inOrderOfArrival);
  };
  const log = new ArrivalLog(0, [entry(1, 10_000), entry(2, 10_001)]);
  const [, before] = await told(log, BEFORE_ALL, 10_010);
  const [third, fourth, fifth] = [entry(3, 5_000), entry(4, 5_001), entry(5, 5_020)];
  log.add([third, fourth]);
  const since = await told(log, before!, 5_015);
  t.same(
    since.map(({ id }) => id),
    ['n3', 'n4'],
  );
  t.equal(fourth.arrivedAt, since[1]!.at, 'also for who asks for its place');
  log.add([fifth]);
  t.match(await told(log, since[1]!, 5_030), [{ id: 'n5' }], 'each once');
  t.same((await told(log, BEFORE_ALL, 5_030)).length, 5);
  const again = new ArrivalLog(0, [entry(1, 10_000), entry(2, 10_001), third, fourth, fifth], log);
  again.add([entry(6, 5_040)]);
  t.match(await told(again, since[1]!, 5_050), [{ id: 'n5' }, { id: 'n6' }]);
});

t.test('the notes of a feed are a sorted list, whatever is added, removed and asked for', async () => {
  const ids = new NoteIds(() => Date.UTC(2026, 0, 1));
  const dated = Array.from({ length: 10 }, () => ids.next());
  const names = dated.map((id, n) => unasked(noteFile(id, 'md'), n % 2 === 0, 100 + n));
  const start = fc.uniqueArray(fc.constantFrom(...names));
  const steps = fc.array(
    fc.record({ add: fc.boolean(), n: fc.nat(30), date: fc.nat(3), size: fc.nat(2 ** 40) }),
  );
  fc.assert(
    fc.property(start, steps, fc.integer({ min: 1, max: 40 }), (unaskedNotes, all, limit) => {
      const list = new NoteList(unaskedNotes);
      const model = new Map<string, Entry>();
      for (const name of unaskedNotes) {
        const id = dated[names.indexOf(name)]!;
        const { size } = name;
        const meta = name.unasked.startsWith('.') ? UNSEEN : undefined;
        const file = noteFile(id, 'md');
        model.set(file, { file, id, type: 'md', createdAt: dateOfId(id)!, size, stamp: UNSEEN, meta });
      }
      let isSized = true;
      for (const { add, n, date, size } of all) {
        // Half of the notes are dated by their ids.
        const place = n % 2 ? entry(n, date) : placeOfId(dated[(n / 2) % dated.length]!);
        const note = { ...entry(n), ...place, size };
        isSized &&= list.sizeOf(note.file) === model.get(note.file)?.size;
        if (add) list.put(note);
        else list.remove(note.file);
        if (add) model.set(note.file, note);
        else model.delete(note.file);
      }
      const expected = [...model.values()].sort(oldestFirst).reverse();
      const first = list.older(undefined, limit);
      const rest = first.length ? list.older(first.at(-1)!, 100) : [];
      const newest = expected[0];
      isSized &&= list.byteCount === expected.reduce((sum, { size }) => sum + size, 0);
      isSized &&= expected.every((one) => list.sizeOf(one.file) === one.size);
      const isSame = isDeepStrictEqual([...first, ...rest], expected) && list.size === expected.length;
      const isFound = expected.every((one) => list.get(one.file) === list.getAsked(one.file));
      return isSame && isSized && isFound && (!newest || list.newer(newest) === undefined);
    }),
  );
});

t.test('a list of many notes is sorted, and leaves out what has expired', async (t) => {
  const count = 5000;
  const order = Array.from({ length: count }, (_, n) => (n * 1237) % count);
  const list = new NoteList([], (file) =>
    Number(file.slice(1, -3)) % 5000 < 4000 ? 10 : Number.POSITIVE_INFINITY,
  );
  for (const n of order) list.put(entry(n));
  const numbersOf = (entries: readonly Entry[]) => entries.map(({ createdAt }) => createdAt);
  const all = Array.from({ length: count }, (_, n) => count - 1 - n);
  t.same(numbersOf(list.older(undefined, count)), all);
  t.same(numbersOf(list.older(undefined, count, 10)), all.slice(0, 1000));
  t.equal(list.older(undefined, 1, 9)[0]?.createdAt, count - 1, 'not yet');
  t.equal(list.newer({ createdAt: 5, file: 'n5.md' as NoteFile }, 10)?.createdAt, 4000);
  t.equal(list.newer({ createdAt: 5, file: 'n5.md' as NoteFile })?.createdAt, 6);
  t.same(
    [...list.oldest()].map(({ createdAt }) => createdAt),
    all.toReversed(),
  );
  for (const n of order) if (n !== 3 && n % 100 !== 0) list.remove(`n${n}.md` as NoteFile);
  t.same(
    numbersOf(list.older(undefined, count)),
    all.filter((n) => n === 3 || n % 100 === 0),
  );
  t.same([list.size, list.has('n3.md' as NoteFile), list.has('n4.md' as NoteFile)], [51, true, false]);
  t.equal(list.byteCount, 3 + (100 * 49 * 50) / 2, 'each was counted with its number');
});

function placeOfId(id: NoteId) {
  return { id, file: noteFile(id, 'md'), createdAt: dateOfId(id)! };
}

t.test('no two feeds share a read id, and one that only one feed stores is its own', async () => {
  const names = ['a', 'b', 'c', 'd'].map(feedName);
  const derived = names.slice(0, 2).map((name) => derivedReadId(SECRET, name));
  const stored = [undefined, 'id-1' as ReadId, 'id-2' as ReadId, ...derived];
  const step = fc.record({
    name: fc.constantFrom(...names),
    id: fc.constantFrom(...stored),
    drop: fc.boolean(),
  });
  const [a, b] = names as [FeedName, FeedName];
  // Each stores what the other's name gives.
  const swap = [
    { name: b, id: undefined, drop: false },
    { name: a, id: derived[1], drop: false },
    { name: b, id: derived[0], drop: false },
  ];
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const index = new FeedIndex(SECRET);
      for (const { name, id, drop } of steps) {
        const files = { storedReadId: id, settings: NO_SETTINGS, passwordHash: undefined };
        const known = index.get(name);
        if (known && drop) index.drop(known);
        else if (known) index.apply(known, { files });
        else index.add(new IndexedFeed(name, FOLDER, files));
      }
      const feeds = names.map((name) => index.get(name)).filter((feed) => feed !== undefined);
      for (const feed of feeds) {
        if (index.byReadId(feed.readId) !== feed) return false;
        const wanted = feed.files.storedReadId;
        if (wanted && index.byReadId(wanted) === undefined) return false;
      }
      return new Set(feeds.map((feed) => feed.readId)).size === feeds.length;
    }),
    { examples: [[swap]] },
  );
});

t.test(
  'a read id that was kept for a feed that was not made goes to the one that waits for it',
  async (t) => {
    const index = new FeedIndex(SECRET);
    const [unmade, storedReadId] = [feedName('unmade'), 'chosen' as ReadId];
    t.equal(index.reserve(unmade, storedReadId), true);
    const files = { storedReadId, settings: NO_SETTINGS, passwordHash: undefined };
    const feed = new IndexedFeed(feedName('placed'), FOLDER, files);
    index.add(feed);
    t.not(feed.readId, storedReadId);
    index.unreserve(unmade, storedReadId);
    t.equal(feed.readId, storedReadId);
  },
);

t.test('folder syncs asked for while one runs share the next', async (t) => {
  const dir = await dataFolder(t);
  const folders = new FolderSync();
  const first = folders.sync(dir);
  const second = folders.sync(dir);
  t.equal(folders.sync(dir), second, 'one sync for all that wait');
  t.not(first, second, 'but not the one that had begun before they asked');
  await Promise.all([first, second]);
  const missing = join(dir, 'missing');
  const [one, two] = [folders.sync(missing), folders.sync(missing)];
  await t.rejects(one, { code: 'ENOENT' });
  await t.rejects(two, { code: 'ENOENT' });
  await mkdir(missing);
  await folders.sync(missing);
});

t.test('files are placed before their folder is synced, and go when that fails', async (t) => {
  const dir = await dataFolder(t);
  const synced: string[][] = [];
  let fails = false;
  const writer = new DurableWriter(dir, undefined, {
    sync: async (folder) => {
      synced.push((await readdir(folder)).map((name) => (isTempName(name) ? 'temp' : name)).sort());
      if (fails) throw new Error('the disk is broken');
    },
  });
  const parts = ['.a.md.json', 'a.md'].map((name) => ({ name, bytes: Buffer.from(name) }));
  await writer.change(dir, [], parts);
  t.same(synced, [['.a.md.json', 'a.md']]);
  await writer.placeFolder(dir, 'feed', parts);
  t.same(synced.slice(1), [
    ['.a.md.json', 'a.md'],
    ['.a.md.json', 'a.md', 'feed'],
  ]);
  fails = true;
  await t.rejects(
    writer.change(join(dir, 'feed'), [], [{ name: 'b.md', bytes: Buffer.from('b') }]),
    /broken/,
  );
  await t.rejects(writer.placeFolder(dir, 'new', parts), /broken/);
  t.same((await readdir(dir, { recursive: true })).sort(), [
    '.a.md.json',
    'a.md',
    'feed',
    'feed/.a.md.json',
    'feed/a.md',
  ]);
});

t.test('an intent is durable before what it plans is done, and goes after that is durable', async (t) => {
  const dir = await dataFolder(t);
  const synced: string[][] = [];
  const kindOf = (name: string) => (isTempName(name) ? 'temp' : isIntentName(name) ? 'intent' : name);
  let failing = 0;
  const writer = new DurableWriter(dir, undefined, {
    sync: async (folder) => {
      synced.push((await readdir(folder)).map(kindOf).sort());
      failing -= 1;
      if (failing === 0) throw new Error('the disk is broken');
    },
  });
  const parts = ['.a.md.json', 'a.md'].map((name) => ({ name, bytes: Buffer.from(name) }));
  const steps = [
    ['temp', 'temp', 'temp'],
    ['intent', 'temp', 'temp'],
    ['.a.md.json', 'a.md', 'intent'],
  ];
  failing = 3;
  await t.rejects(writer.change(dir, [], parts, true), /broken/);
  t.same(synced.splice(0), [...steps, ['intent', 'temp', 'temp'], ['temp', 'temp'], []]);
  await writer.change(dir, [], parts, true);
  t.same(synced, steps);
  t.same((await readdir(dir)).sort(), ['.a.md.json', 'a.md']);
});

t.test('what is taken back after a failed sync is durable too, once a sync succeeds', async (t) => {
  const dir = await dataFolder(t);
  const synced: string[] = [];
  let failing = 0;
  const writer = new DurableWriter(dir, undefined, {
    sync: async (folder) => {
      failing -= 1;
      if (failing === 0) throw new Error('the disk is broken');
      if (failing < 0) synced.push((await readdir(folder)).join());
    },
  });
  const part = { name: 'a.md', bytes: Buffer.from('a') };
  await writer.placeFolder(dir, 'feed', [part]);
  const attempts: (() => Promise<unknown>)[] = [
    () => writer.moveAway(dir, 'feed'),
    () => writer.change(join(dir, 'feed'), [{ name: 'a.md', bytes: Buffer.from('b') }]),
    () => writer.change(join(dir, 'feed'), [], [{ name: 'b.md', bytes: Buffer.from('b') }]),
  ];
  for (const attempt of attempts) {
    failing = 1;
    await t.rejects(attempt(), /broken/);
  }
  failing = 2;
  await t.rejects(writer.placeFolder(dir, 'new', [part]), /broken/);
  t.same(synced.slice(-4), ['feed', 'a.md', 'a.md', 'feed']);
});

t.test('a change whose folder cannot be synced is taken back, whole', async (t) => {
  const dir = await dataFolder(t);
  let fails = false;
  const sync = async () => {
    if (fails) throw new Error('the disk is broken');
  };
  const writer = new DurableWriter(dir, undefined, { sync });
  const bytes = Buffer.from('new');
  const old = ['a.md', '.a.md.json', 'b.md'].map((name) => ({ name, bytes: Buffer.from(name) }));
  await writer.placeFolder(dir, 'feed', old);
  const feed = join(dir, 'feed');
  const all = async () => {
    const names = (await readdir(feed)).sort();
    return Promise.all(names.map(async (name) => [name, await readFile(join(feed, name), 'utf8')]));
  };
  const before = await all();
  const changes = [
    { name: 'a.md', bytes: undefined },
    { name: '.a.md.json', bytes: undefined },
    { name: 'b.md', bytes },
    { name: 'new', bytes },
    { name: 'none', bytes: undefined },
  ];
  fails = true;
  await t.rejects(writer.change(feed, changes), /broken/);
  await t.rejects(writer.moveAway(dir, 'feed'), /broken/);
  t.same(await all(), before);
  t.same(await readdir(dir), ['feed']);
  await mkdir(join(feed, 'folder'));
  fails = false;
  await t.rejects(
    writer.change(feed, [
      { name: 'b.md', bytes },
      { name: 'folder', bytes },
    ]),
    { code: /E/ },
  );
  await rmdir(join(feed, 'folder'));
  t.same(await all(), before, 'a change that fails half way too');
  const stamps = await writer.change(feed, changes);
  t.same(
    stamps.map((stamp) => stamp?.size),
    [undefined, undefined, 3, 3, undefined],
  );
  t.same(await all(), [
    ['b.md', 'new'],
    ['new', 'new'],
  ]);
});

t.test(
  'locks: those who share run together, one who is alone runs alone, in the order they came',
  async (t) => {
    const locks = new KeyedLock<string>();
    const running = new Set<string>();
    const order: string[] = [];
    const work = (label: string) => async () => {
      running.add(label);
      order.push([...running].join('+'));
      for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
      running.delete(label);
      if (label === 'X') throw new Error('X');
    };
    const all = await Promise.allSettled([
      locks.shared('k', work('a')),
      locks.shared('k', work('b')),
      locks.exclusive('k', work('X')),
      locks.shared('k', work('c')),
      locks.shared('k', work('d')),
      locks.exclusive('k', work('Y')),
      locks.exclusive('other', async () => {
        t.ok(running.has('a'), 'another key has its own turns');
      }),
    ]);
    t.same(order, ['a', 'a+b', 'X', 'c', 'c+d', 'Y']);
    t.equal(all.filter((one) => one.status === 'rejected').length, 1);
  },
);

t.test('a note is not shown before its post is durable, though its file is seen', async (t) => {
  const dir = await dataFolder(t);
  const index = new FeedIndex(SECRET);
  const files = { storedReadId: undefined, settings: NO_SETTINGS, passwordHash: undefined };
  const feed = new IndexedFeed(feedName('feed'), FOLDER, files);
  index.add(feed);
  const { file } = entry(1);
  await mkdir(join(dir, 'feed'));
  await writeFile(join(dir, 'feed', file), 'x');
  const log = keptLog();
  const locks = new KeyedLock<FeedName>();
  const writer = new DurableWriter(dir, undefined);
  const reconciler = new Reconciler({ dir, index, locks, log, writer, onLost: () => {} });
  const post = Promise.withResolvers<void>();
  locks.shared(feed.name, () => post.promise);
  reconciler.take([{ feed: feed.name, file, stamp: { mtimeMs: 1, size: 1 }, first: false }]);
  for (let i = 0; i < 50; i += 1) await readdir(dir);
  t.equal(feed.notes.get(file), undefined);
  post.resolve();
  await reconciler.whenIdle();
  t.ok(feed.notes.get(file));
});

t.test('a round does its work in slices and begins anew after its period', async (t) => {
  const done: number[] = [];
  const round = new Round(function* () {
    for (const n of [1, 2, 3]) {
      done.push(n);
      yield;
    }
  }, 100);
  t.equal(round.advance(2, 0), 2);
  t.equal(round.advance(2, 50), 1);
  t.equal(round.advance(9, 99), 0);
  t.equal(round.advance(9, 100), 3);
  t.same(done, [1, 2, 3, 1, 2, 3]);
});

t.test('a tag index holds what the last change says, also when it came during the reading', async (t) => {
  const [a, b] = [entry(1), entry(2)];
  const tags = new Map([
    [a, ['x']],
    [b, ['x', 'y']],
  ]);
  const notes = new NoteList([a, b]);
  const index = new TagIndex(notes, async (one) => {
    const read = tags.get(one)!;
    await new Promise((resolve) => setImmediate(resolve));
    return read;
  });
  const asked = index.tagged('x');
  const changed = { ...a };
  tags.set(changed, ['y']);
  index.replace([notes.put(changed)], [changed]);
  t.same((await asked).older(undefined, 9), [b]);
  t.same((await index.tagged('y')).older(undefined, 9), [b, changed]);
  index.replace([notes.remove(b.file)], []);
  t.same((await index.tagged('x')).older(undefined, 9), []);
});

t.test('the tags of a large feed are read in pieces', async (t) => {
  const [begun, ended] = [new Set<Entry>(), new Set<Entry>()];
  let most = 0;
  const entries = Array.from({ length: 1_000 }, (_, n) => entry(n));
  const index = new TagIndex(new NoteList(entries), async (one) => {
    most = Math.max(most, begun.add(one).size - ended.size);
    await new Promise((resolve) => setImmediate(resolve));
    ended.add(one);
    return ['x'];
  });
  t.same(await index.mostUsed('', () => []), [{ tag: 'x', count: 1_000 }]);
  t.ok(most <= 100, `${most} at once`);
});

t.test('of thousands of tags the most used are told, as notes come, go and expire', async (t) => {
  const entries = Array.from({ length: 500 }, (_, n) => entry(n));
  const tagsOf = ({ size: n }: Entry) => Array.from({ length: 10 }, (_, k) => `t${(n * 10 + k) % 3_500}`);
  const counted = (notes: readonly Entry[], prefix: string) =>
    Object.entries(Object.groupBy(notes.flatMap(tagsOf), (tag) => tag))
      .map(([tag, all]) => ({ tag, count: all!.length }))
      .filter(({ tag }) => tag.startsWith(prefix))
      .sort((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
      .slice(0, 1_000);
  const some = fc.uniqueArray(fc.constantFrom(...entries), { maxLength: 500, size: 'max' });
  const changes = fc.array(fc.tuple(some, some), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      changes,
      some,
      fc.constantFrom('', 't1', 't349', 'x'),
      async (steps, expired, prefix) => {
        const list = new NoteList();
        const index = new TagIndex(list, async (one) => tagsOf(one));
        const notes = new Set<Entry>();
        for (const [gone, added] of steps) {
          const come = added.filter((one) => !notes.has(one) || gone.includes(one));
          index.replace(
            gone.map(({ file }) => list.remove(file)),
            come,
          );
          for (const one of come) list.put(one);
          for (const one of gone) notes.delete(one);
          for (const one of come) notes.add(one);
          t.same(await index.mostUsed(prefix, () => []), counted([...notes], prefix));
        }
        const left = [...notes].filter((one) => !expired.includes(one));
        t.same(await index.mostUsed(prefix, () => expired.map(({ file }) => file)), counted(left, prefix));
        index.replace(entries, []);
        t.same(await index.mostUsed(prefix, () => []), []);
      },
    ),
    { numRuns: 30, endOnFailure: true },
  );
});

t.test('stamps: what counts as a change', async (t) => {
  const old = { mtimeMs: 1, size: 1 };
  t.same(stampToKeep(old), old);
  t.equal(stampToKeep({ mtimeMs: Date.now(), size: 1 }), UNSURE, 'a fresh stamp is not trusted');
  t.ok(sameStamp(old, { ...old }));
  t.notOk(sameStamp(old, { ...old, size: 2 }));
  t.notOk(sameStamp(UNSEEN, old));
  t.notOk(sameStamp(UNSURE, UNSURE), 'every look at what may still change is news');
});

t.test('metadata: whatever people write is read without harm', async (t) => {
  const none = { meta: { tags: [] } };
  for (const json of [
    '',
    '{',
    '[]',
    '7',
    'null',
    '"text"',
    '{"title": 1, "tags": {"a": 1}, "created": "soon"}',
  ]) {
    t.same(parseMeta(json), none, json);
  }
  t.same(parseMeta('{"tags": ["a", 1, "a", " b "], "alt": "x\\ny", "created": "2020-01-01"}'), {
    meta: { tags: ['a', 'b'], alt: 'x y' },
    created: Date.UTC(2020, 0, 1),
  });
  t.same(settingsIn({ title: 5, image: [], show_sender: 'no' }), NO_SETTINGS);
  t.equal(serializeMeta({ tags: [] }), undefined);
  const meta = { title: 'T', alt: 'A', name: 'N', sender: 'S', tags: ['t'] };
  t.same(parseMeta(serializeMeta(meta)!), { meta });
  const unlisted = { tags: [], unlisted: true } as const;
  t.same(parseMeta(serializeMeta(unlisted)!), { meta: unlisted });
  for (const wrong of [false, 1, '1'])
    t.same(parseMeta(JSON.stringify({ unlisted: wrong })), { meta: { tags: [] } });
  const edited = { tags: [], edited: Date.UTC(2026, 0, 1) };
  t.equal(serializeMeta(edited), '{"edited":"2026-01-01T00:00:00.000Z"}');
  t.same(parseMeta(serializeMeta(edited)!), { meta: edited });
  const attached = { tags: [], attachedTo: 'text' as NoteId };
  t.equal(serializeMeta(attached), '{"attached_to":"text"}');
  t.same(parseMeta('{"attached_to":"text","attachedTo":"x"}'), {
    ...{ meta: attached, others: { attachedTo: 'x' } },
  });
  for (const wrong of [1, '', '../a', 'a.png', null])
    t.equal(parseMeta(JSON.stringify({ attached_to: wrong })).meta.attachedTo, undefined);
});

t.test('metadata: the members of others are written as they were read', async (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (members, hasTitle) => {
      const {
        title,
        alt,
        name,
        sender,
        tags,
        created,
        key,
        posted,
        expires,
        attached_to,
        unlisted,
        edited,
        ...others
      } = members;
      const meta = { tags: [], ...(hasTitle && { title: 'T' }) };
      const text = serializeMeta(meta, { ...parseMeta(JSON.stringify(members)), created: undefined });
      const expected = { ...others, ...(hasTitle && { title: 'T' }) };
      return JSON.stringify(expected) === (text ?? '{}');
    }),
  );
  const own = '{"__proto__":{"a":1},"constructor":2,"n":null}';
  t.equal(serializeMeta({ tags: [] }, parseMeta(own)), own);
  t.same(otherSettings(JSON.parse(own)), JSON.parse(own));
  t.equal(otherSettings({ title: 'a', description: 'b', image: 'c', show_sender: 1, listed: 1 }), undefined);
  for (const json of ['[1]', '"text"', '{']) t.equal(parseMeta(json).others, undefined, json);
});

t.test('metadata: what others keep gives way where the file could not be read again', async (t) => {
  const deep = `{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const large = JSON.stringify({ large: 'x'.repeat(256 * 1024 - 12) });
  t.equal(Buffer.byteLength(large), 256 * 1024);
  t.equal(serializeMeta({ tags: [] }, parseMeta(large)), large);
  for (const json of [deep, large])
    t.equal(serializeMeta({ title: 'T', tags: [] }, parseMeta(json)), '{"title":"T"}');
});

t.test('settings: a feed is listed only if that is said', async (t) => {
  for (const listed of [undefined, false, 1, 'true', null]) t.equal(settingsIn({ listed }).listed, false);
  const settings = { ...NO_SETTINGS, listed: true };
  t.equal(serializeSettings(settings), '{"listed":true}');
  t.same(settingsIn({ listed: true }), settings);
  t.equal(serializeSettings(NO_SETTINGS), undefined);
});

t.test('settings: whether the sender shows is read in both spellings', async (t) => {
  for (const [fields, shown] of [
    [{ showSender: false }, false],
    [{ showSender: true }, true],
    [{ showSender: 0 }, true],
    [{ show_sender: false, showSender: true }, false],
    [{ show_sender: true, showSender: false }, true],
    [{ show_sender: 'no', showSender: false }, false],
  ] as const)
    t.equal(settingsIn(fields).showSender, shown, JSON.stringify(fields));
});
