/** What the seeded world has found, one by one. */
import './system-calls.ts';
import t, { type Test } from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import type { FeedName, NoteId, ReadId } from '../../src/feeds/names.ts';
import type { NewNote, NoteMeta } from '../../src/feeds/note.ts';
import { scanFeed } from '../../src/storage/files/scan.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type NewFeed, toFeed } from '../../src/writing/command.ts';
import { NO_LIMITS } from '../../src/writing/limits.ts';
import { WatchedFolder } from '../../workers/watched-folder.ts';
import { Computer } from './computer.ts';
import { openOn } from './opening.ts';
import type { Chance } from './simulated-disk.ts';
import { ROOT, runOn } from './system-calls.ts';

const DATA = `${ROOT}/data`;
const name = 'feed' as FeedName;
const readId = 'read-id' as ReadId;
const ids = new NoteIds(() => Date.UTC(2026, 0, 1));
/** A power cut that leaves nothing that was not synced. */
const NOTHING_LEFT = { chance: () => true, below: () => 0 };

/** A power cut after which files are gone that were removed, but none has the name that it got, unless that was synced. */
function onlyRemovals(): Chance {
  let asked = 0;
  return { chance: () => asked++ > 0, below: () => 0 };
}

function start(t: Test): Computer {
  const computer = new Computer(1, DATA);
  runOn(computer);
  t.teardown(() => runOn(undefined));
  return computer;
}

const makeFeed = (storage: Storage, made: Partial<NewFeed> = {}) =>
  storage.write({
    ...{ kind: 'post', name, target: { kind: 'new', readId, passwordHash: undefined, ...made } },
    ...{ notes: [], limits: NO_LIMITS },
  });

async function postText(storage: Storage, keyed: Pick<NoteMeta, 'key' | 'posted' | 'expires'> = {}) {
  const meta = { tags: [], ...keyed };
  const note = { id: ids.next(), type: 'md', bytes: Buffer.from('text'), meta } as const;
  const feed = (await storage.feed(name))!;
  await storage.write({ kind: 'post', ...toFeed(feed), notes: [note], limits: NO_LIMITS });
  return note.id;
}

async function changeText(storage: Storage, id: NoteId, notes: readonly NewNote[] = []): Promise<void> {
  const content = { type: 'md', bytes: Buffer.from('changed') } as const;
  const feed = toFeed((await storage.feed(name))!);
  await storage.write({ kind: 'replace', ...feed, id, content, notes, limits: NO_LIMITS });
}

/** Fails what follows when metadata were moved away, and moving them back. */
function onceMovedAway(): Pick<RegExp, 'test'> {
  let isAway = false;
  return {
    test(call) {
      if (isAway) return /^fsync|^rename .*tmp-nfs-.* /.test(call);
      isAway = /^rename .*\.json .*tmp-nfs-/.test(call);
      return false;
    },
  };
}

/** Fails calls of a kind behind the first call of another kind. */
function after(first: RegExp, failing: RegExp): Pick<RegExp, 'test'> {
  let isBehind = false;
  return {
    test(call) {
      if (isBehind) return failing.test(call);
      isBehind = first.test(call);
      return false;
    },
  };
}

/** Fails the sync of a folder in which a note has its new bytes. */
function onceEdited(id: string): Pick<RegExp, 'test'> {
  let isEdited = false;
  return {
    test(call) {
      if (isEdited && call.startsWith('fsync')) return true;
      isEdited ||= call.startsWith('rename') && call.endsWith(`${id}.md`);
      return false;
    },
  };
}

const later = (computer: Computer, ms: number) =>
  new Promise<void>((resolve) => computer.time.after(ms, resolve));
const countOf = async (storage: Storage) => (await storage.feed(name))?.noteCount;

/** Does a work that the process does not survive: it is killed at the call after the first one that matches. */
async function killedAfter(computer: Computer, call: RegExp, work: (storage: Storage) => Promise<unknown>) {
  const storage = (await computer.until(openOn(computer, DATA)))!;
  const done = work(storage);
  computer.dyingAfter = call;
  if ((await computer.until(done.then(() => true))) !== undefined) throw new Error('nothing was killed');
  computer.restart(false);
}

t.test('a feed that is there after a kill outlives a power cut, with what was posted to it', async (t) => {
  const computer = start(t);
  await killedAfter(computer, /rename .*feed$/, makeFeed);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(postText(storage));
  computer.restart(true, NOTHING_LEFT);
  const again = (await computer.until(openOn(computer, DATA)))!;
  t.equal(await computer.until(countOf(again)), 1);
});

t.test('a note that is there after a kill outlives a power cut', async (t) => {
  const computer = start(t);
  const first = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(first));
  computer.restart(false);
  await killedAfter(computer, /rename .*md$/, postText);
  const second = (await computer.until(openOn(computer, DATA)))!;
  t.equal(await computer.until(countOf(second)), 1);
  computer.restart(true, NOTHING_LEFT);
  const third = (await computer.until(openOn(computer, DATA)))!;
  t.equal(await computer.until(countOf(third)), 1);
});

for (const isEdit of [false, true])
  t.test(
    `${isEdit ? 'an edit with a picture' : 'a note with a key'} that was planned is done by a start`,
    async (t) => {
      const computer = start(t);
      const first = (await computer.until(openOn(computer, DATA)))!;
      await computer.until(makeFeed(first));
      const id = (await computer.until(postText(first)))!;
      computer.restart(false);
      const picture = {
        id: ids.next(),
        type: 'png',
        bytes: Buffer.from('bytes'),
        meta: { tags: [] },
      } as const;
      await killedAfter(computer, /rename .*intent-nfs/, (storage) =>
        isEdit ? changeText(storage, id, [picture]) : postText(storage, { key: 'k', posted: { hash: 'h' } }),
      );
      for (const isPowerCut of [false, true]) {
        if (isPowerCut) computer.restart(true, onlyRemovals());
        const storage = (await computer.until(openOn(computer, DATA)))!;
        t.equal(await computer.until(countOf(storage)), 2);
        const text = await computer.until(storage.note((await storage.feed(name))!, id));
        t.equal(String(text?.content), isEdit ? 'changed' : 'text');
      }
    },
  );

t.test('the read id of a feed stays retired when a deletion was killed and is repeated', async (t) => {
  const computer = start(t);
  const first = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(first));
  computer.restart(false);
  const remove = async (storage: Storage) =>
    storage.write({ kind: 'delete', ...toFeed((await storage.feed(name))!) });
  await killedAfter(computer, /write /, remove);
  const second = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(remove(second));
  computer.restart(true, NOTHING_LEFT);
  const third = (await computer.until(openOn(computer, DATA)))!;
  await t.rejects(computer.until(makeFeed(third)), { code: 'taken' });
});

t.test('a look that fails hides no change by hand from the watch', async (t) => {
  const computer = start(t);
  const { disk } = computer;
  disk.makeFolder(`${DATA}/feed`);
  disk.placeByHand(`${DATA}/feed/a.md`, Buffer.from('a'));
  const folder = new WatchedFolder(DATA, name);
  disk.placeByHand(`${DATA}/feed/a.md`, undefined);
  computer.failing = /^lstat .*data$/;
  const gone = { feed: name, file: 'a.md', stamp: undefined, first: false };
  t.same(folder.compareListing(), [gone]);
  disk.placeByHand(`${DATA}/feed/b.md`, Buffer.from('b'));
  computer.failing = /^lstat .*b.md$/;
  folder.compareListing();
  computer.failing = undefined;
  t.match([...folder.lookAtFiles()], [{ file: 'b.md', stamp: { size: 1 }, first: false }]);
  disk.placeByHand(`${DATA}/feed/b.md`, Buffer.from('longer'));
  const second = /^lstat .*b.md$/g;
  // Not the first such call, but a second one.
  second.lastIndex = Number.MAX_SAFE_INTEGER;
  computer.failing = second;
  t.match([...folder.lookAtFiles()], [{ file: 'b.md', stamp: { size: 6 }, first: false }]);
});

t.test(
  'a file that comes back shows although its folder was listed anew during the round that saw it go',
  async (t) => {
    const computer = start(t);
    const { disk } = computer;
    disk.makeFolder(`${DATA}/feed`);
    const place = (file: string, text?: string) =>
      disk.placeByHand(`${DATA}/feed/${file}.md`, text === undefined ? undefined : Buffer.from(text));
    for (const file of ['a', 'b']) place(file, file);
    const folder = new WatchedFolder(DATA, name);
    await computer.until(later(computer, 10_000));
    const look = () => [...folder.lookAtFiles()].filter((seen) => seen);
    look();
    const round = folder.lookAtFiles();
    round.next();
    place('c', 'c');
    t.match(folder.compareListing(), [{ file: 'c.md' }]);
    for (const file of ['a', 'b']) disk.renameByHand(`${DATA}/feed/${file}.md`, `${DATA}/feed/${file}.away`);
    const gone = round.next().value;
    t.match(gone, { stamp: undefined });
    t.equal(round.next().done, true);
    for (const file of ['a', 'b']) disk.renameByHand(`${DATA}/feed/${file}.away`, `${DATA}/feed/${file}.md`);
    await computer.until(later(computer, 10_000));
    folder.compareListing();
    t.match(
      look().find((seen) => seen?.file === gone?.file),
      { stamp: { size: 1 }, first: false },
    );
    t.same(look(), []);
  },
);

t.test('a key whose note was removed by hand just before names the note that was made since', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  const keyed = { key: 'k', posted: { hash: 'h' } };
  const first = await computer.until(postText(storage, keyed));
  computer.disk.placeByHand(`${DATA}/feed/${first}.md`, undefined);
  await computer.until(postText(storage, keyed));
  const count = await countOf(storage);
  await computer.until(postText(storage, keyed));
  t.equal(await countOf(storage), count, 'not a third one');
});

t.test(
  'a note that somebody changes by hand while it is described has the size of the bytes it is shown with',
  async (t) => {
    const computer = start(t);
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await computer.until(makeFeed(storage));
    const id = (await computer.until(postText(storage)))!;
    const path = `${DATA}/feed/${id}.md`;
    computer.failing = {
      test(call) {
        if (call.startsWith('open ') && call.endsWith('.md'))
          computer.disk.placeByHand(path, Buffer.from('longer'));
        return false;
      },
    };
    const feed = (await storage.feed(name))!;
    const command = { kind: 'describe', ...toFeed(feed), id, meta: { title: 'Title' } } as const;
    const { size, content } = (await computer.until(storage.write(command)))!.note!;
    t.same([size, String(content)], [6, 'longer']);
  },
);

t.test('a key that could not be read while `.marks` was written is known after a restart', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  const place = (file: string, text: string) =>
    computer.disk.placeByHand(`${DATA}/feed/${file}`, Buffer.from(text));
  computer.failing = /^open .*by-hand\.md\.json$/;
  place('by-hand.md', 'text');
  place('.by-hand.md.json', '{"key":"k","posted":{"hash":"h"}}');
  await computer.until(later(computer, 5_000));
  for (let n = 0; n < 8; n += 1)
    await computer.until(postText(storage, { key: `${n}`, posted: { hash: 'h' } }));
  await computer.until(later(computer, 5_000));
  computer.failing = undefined;
  await computer.until(later(computer, 2_000));
  t.equal(await countOf(storage), 9);
  computer.restart(false);
  const again = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(postText(again, { key: 'k', posted: { hash: 'h' } }));
  t.equal(await computer.until(countOf(again)), 9);
});

t.test('a folder whose time is set back is listed again', async (t) => {
  const computer = start(t);
  computer.disk.makeFolder(`${DATA}/feed`);
  const folder = new WatchedFolder(DATA, name);
  await computer.until(later(computer, 10_000));
  folder.compareListing();
  computer.disk.placeByHand(`${DATA}/feed/a.md`, Buffer.from('a'));
  computer.disk.setTimesOf(`${DATA}/feed`, 0);
  folder.compareListing();
  computer.disk.placeByHand(`${DATA}/feed/b.md`, Buffer.from('b'));
  computer.disk.setTimesOf(`${DATA}/feed`, 0);
  t.equal(folder.look(), 'same');
  folder.listAgain();
  t.equal(folder.look(), 'changed');
  t.match(folder.compareListing(), [{ file: 'b.md' }]);
});

t.test('names that somebody closes by hand while the file cannot be read are closed later', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  computer.failing = /^open .*blocked$/;
  computer.disk.placeByHand(`${DATA}/.blocked`, Buffer.from(`${name}\n`));
  await computer.until(later(computer, 2_000));
  t.notOk((await storage.feed(name))?.isBlocked);
  computer.failing = undefined;
  await computer.until(later(computer, 2_000));
  t.ok((await storage.feed(name))?.isBlocked);
});

t.test('a file that cannot be read keeps no other from showing', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  await computer.until(later(computer, 2_000));
  computer.failing = /^open .*\.a\.md\.json$/;
  for (const file of ['a.md', '.a.md.json', 'b.md', '.b.md.json'])
    computer.disk.placeByHand(`${DATA}/feed/${file}`, Buffer.from('{}'));
  await computer.until(later(computer, 3_000));
  t.equal(await computer.until(countOf(storage)), 1);
  computer.failing = undefined;
  await computer.until(later(computer, 2_000));
  t.equal(await computer.until(countOf(storage)), 2);
});

for (const isMade of [true, false])
  t.test(`the same in a folder that was ${isMade ? 'made just now' : 'placed by hand'}`, async (t) => {
    const computer = start(t);
    const { disk } = computer;
    const storage = (await computer.until(openOn(computer, DATA)))!;
    if (isMade) await computer.until(makeFeed(storage));
    else disk.makeFolder(`${DATA}/feed`);
    const dated = ids.next();
    computer.failing = new RegExp(`^open .*\\.(a|${dated})\\.md\\.json$`);
    for (const id of ['a', 'b', dated])
      for (const file of [`${id}.md`, `.${id}.md.json`])
        disk.placeByHand(`${DATA}/feed/${file}`, Buffer.from('{}'));
    await computer.until(later(computer, 3_000));
    // The name of the dated one tells enough to show it, but not whether it takes the key of a note that is there.
    t.equal(await computer.until(countOf(storage)), isMade ? 1 : 2);
    computer.failing = undefined;
    await computer.until(later(computer, 3_000));
    t.equal(await computer.until(countOf(storage)), 3);
  });

t.test('a feed that cannot be read when somebody posts to it is unavailable', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  computer.failing = /^scandir .*feed$/;
  computer.disk.makeFolder(`${DATA}/feed`);
  computer.disk.placeByHand(`${DATA}/feed/a.md`, Buffer.from('a'));
  await t.rejects(computer.until(makeFeed(storage)), { code: 'store_unavailable' });
});

t.test('a lock that cannot be looked at makes the storage unavailable', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  computer.failing = /^lstat .*lock$/;
  await t.rejects(computer.until(storage.check()), { code: 'store_unavailable' });
  computer.failing = undefined;
  await computer.until(storage.check());
});

t.test('a folder that could not be looked at is watched later', async (t) => {
  const computer = start(t);
  const { disk } = computer;
  const storage = (await computer.until(openOn(computer, DATA)))!;
  disk.makeFolder(`${DATA}/feed`);
  for (const [n, failing] of [/^scandir .*feed$/, /^lstat .*feed$/].entries()) {
    computer.failing = failing;
    await computer.until(later(computer, 2_000));
    computer.failing = undefined;
    await computer.until(later(computer, 2_000));
    disk.placeByHand(`${DATA}/feed/${n}.md`, Buffer.from('by hand'));
    await computer.until(later(computer, 2_000));
    t.equal(await computer.until(countOf(storage)), n + 1, `${failing}`);
  }
});

t.test(
  'what cannot be taken back at once is taken back later, and before anything else is written',
  async (t) => {
    const computer = start(t);
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await computer.until(makeFeed(storage));
    const id = (await computer.until(postText(storage)))!;
    const feed = (await storage.feed(name))!;
    computer.failing = /^fsync|^rename .*tmp-nfs-.* /;
    const refused = { code: 'store_unavailable' };
    await t.rejects(computer.until(storage.write({ kind: 'remove', ...toFeed(feed), id })), refused);
    computer.failing = /^rename .*tmp-nfs-.* /;
    await t.rejects(computer.until(postText(storage)), refused);
    await computer.until(later(computer, 2_000));
    t.equal(await computer.until(countOf(storage)), 1, 'the file is away, which nobody did by hand');
    computer.failing = undefined;
    await computer.until(later(computer, 3_000));
    t.equal(await computer.until(countOf(storage)), 1, 'and back');
    await computer.until(postText(storage));
    t.equal(await computer.until(countOf(storage)), 2);
  },
);

t.test(
  'what is left to be taken back in a feed that is deleted is not done in a new one of its name',
  async (t) => {
    const computer = start(t);
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await computer.until(makeFeed(storage));
    const feed = toFeed((await storage.feed(name))!);
    const passwordHash = 'hash';
    computer.failing = /^fsync|^rename .*password .*tmp-nfs-/;
    const refused = storage.write({ kind: 'set password', ...feed, passwordHash });
    await t.rejects(computer.until(refused), { code: 'store_unavailable' });
    computer.failing = undefined;
    await computer.until(storage.write({ kind: 'delete', ...feed }));
    await computer.until(makeFeed(storage, { readId: 'other' as ReadId, passwordHash }));
    await computer.until(later(computer, 5_000));
    t.match(await storage.feed(name), { passwordHash });
  },
);

t.test('a feed whose refused deletion cannot be taken back yet is not taken for gone', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  const feed = toFeed((await storage.feed(name))!);
  computer.failing = after(/^rename .*feed /, /^fsync|^rename .*feed$/);
  const refused = { code: 'store_unavailable' };
  await t.rejects(computer.until(storage.write({ kind: 'delete', ...feed })), refused);
  await t.rejects(computer.until(postText(storage)), refused);
  computer.failing = undefined;
  await computer.until(postText(storage));
  t.equal(await countOf(storage), 1);
});

t.test(
  'a feed is not taken for gone if the data folder is away when its deletion has moved it',
  async (t) => {
    const computer = start(t);
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await computer.until(makeFeed(storage));
    const feed = toFeed((await storage.feed(name))!);
    const { disk } = computer;
    let isMoved = false;
    computer.failing = {
      test(call) {
        // The data folder is away during the sync, and when the storage looks whether it is away, because the move back fails.
        disk.isAway = isMoved;
        if (isMoved && call.startsWith('lstat')) isMoved = false;
        isMoved ||= /^rename .*feed .*tmp-nfs-/.test(call);
        return false;
      },
    };
    const removal = computer.until(storage.write({ kind: 'delete', ...feed }));
    await t.rejects(removal, { code: 'store_unavailable' });
    t.ok(await storage.feed(name));
  },
);

t.test('what the disk refuses takes no room', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA, { maxFeeds: 1, maxBytes: 4 })))!;
  for (const work of [makeFeed, postText]) {
    computer.failing = /^fsync/;
    await t.rejects(computer.until<unknown>(work(storage)), { code: 'store_unavailable' });
    computer.failing = undefined;
    await computer.until<unknown>(work(storage));
  }
  t.equal(await countOf(storage), 1);
});

t.test('a report that comes while a refused removal of another is to be taken back is kept', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  const add = (key: string) => computer.until(storage.records.add({ kind: 'report', key, value: '', at: 0 }));
  for (const key of ['a', 'b']) await add(key);
  computer.failing = after(/^rename .*reports$/, /^fsync|^rename .*reports$/);
  await t.rejects(computer.until(storage.records.remove('report', 'a')), { code: 'store_unavailable' });
  computer.failing = undefined;
  await add('c');
  await computer.until(later(computer, 3_000));
  computer.restart(false);
  const again = (await computer.until(openOn(computer, DATA)))!;
  t.equal(await computer.until(again.records.count('report')), 3);
});

t.test('the first report outlives a power cut', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(storage.records.add({ kind: 'report', key: 'a', value: '', at: 0 }));
  computer.restart(true, NOTHING_LEFT);
  const again = (await computer.until(openOn(computer, DATA)))!;
  t.equal(await computer.until(again.records.count('report')), 1);
});

t.test('a note whose refused removal cannot be taken back yet is not shown by half', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  const feed = (await storage.feed(name))!;
  for (const type of ['md', 'png'] as const) {
    const meta = { tags: ['tag'] };
    const note = { id: ids.next(), type, bytes: Buffer.from('bytes'), meta };
    await computer.until(storage.write({ kind: 'post', ...toFeed(feed), notes: [note], limits: NO_LIMITS }));
    computer.failing = /^fsync|^rename .*tmp-nfs-.* /;
    const removal = storage.write({ kind: 'remove', ...toFeed(feed), id: note.id });
    const refused = { code: 'store_unavailable' };
    await t.rejects(computer.until(removal), refused);
    await t.rejects(computer.until(storage.note(feed, note.id)), refused, type);
    computer.failing = undefined;
    t.match(await computer.until(storage.note(feed, note.id)), { meta });
  }
});

t.test('an expired note whose refused removal cannot be taken back yet is swept later', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  await computer.until(postText(storage, { expires: Date.now() + 1 }));
  await computer.until(later(computer, 10));
  const feed = (await storage.feed(name))!;
  const sweep = () => computer.until(storage.write({ kind: 'sweep', ...toFeed(feed) }));
  computer.failing = onceMovedAway();
  await t.rejects(sweep(), { code: 'store_unavailable' });
  await t.rejects(sweep(), { code: 'store_unavailable' });
  computer.failing = undefined;
  await sweep();
  t.equal(await countOf(storage), 0);
});

t.test('a network file system whose server is away is a disk that fails', async (t) => {
  const computer = start(t);
  computer.failingWith = 'EHOSTDOWN';
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  const id = (await computer.until(postText(storage)))!;
  const feed = (await storage.feed(name))!;
  computer.failing = /^fsync|^rename .*tmp-nfs-.* /;
  const removal = computer.until(storage.write({ kind: 'remove', ...toFeed(feed), id }));
  t.match(await removal.catch((error) => error), { code: 'store_unavailable' });
  computer.failing = undefined;
  await computer.until(later(computer, 3_000));
  t.equal(await computer.until(countOf(storage)), 1, 'what was refused is taken back');
  computer.failing = /^lstat .*b.md$/;
  computer.disk.placeByHand(`${DATA}/feed/b.md`, Buffer.from('by hand'));
  await computer.until(later(computer, 2_000));
  computer.failing = undefined;
  await computer.until(later(computer, 2_000));
  t.equal(await computer.until(countOf(storage)), 2, 'what could not be looked at is looked at again');
});

t.test('a post is a retry also while the refused removal of its note is to be undone', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  const keyed = { key: 'k', posted: { hash: 'h' } };
  const id = (await computer.until(postText(storage, keyed)))!;
  const feed = (await storage.feed(name))!;
  computer.failing = /^fsync|^rename .*tmp-nfs-.* /;
  const removal = storage.write({ kind: 'remove', ...toFeed(feed), id });
  await t.rejects(computer.until(removal), { code: 'store_unavailable' });
  await computer.until(later(computer, 2_000));
  computer.failing = undefined;
  await computer.until(postText(storage, keyed));
  await computer.until(later(computer, 3_000));
  t.equal(await computer.until(countOf(storage)), 1);
});

t.test('a folder of which several files cannot be looked at stops no process', async (t) => {
  const computer = start(t);
  const { disk } = computer;
  disk.makeFolder(`${DATA}/feed`);
  for (const file of ['a.md', 'b.md', `${ids.next()}.md`])
    disk.placeByHand(`${DATA}/feed/${file}`, Buffer.from(file));
  computer.failing = /^lstat .*md$/;
  const unhandled: unknown[] = [];
  const hear = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', hear);
  t.teardown(() => process.off('unhandledRejection', hear));
  const log = { warn: () => {}, error: () => {} };
  await t.rejects(computer.until(scanFeed(DATA, name, log)), { code: 'EIO' });
  await computer.until(later(computer, 100));
  t.same(unhandled, []);
});

for (const [how, ms] of [
  ['by hand', 2_000],
  ['by a client', 200],
  ['by an edit that was refused', 11_000],
] as const)
  t.test(`who goes on from a note that was changed ${how} is told what came after it`, async (t) => {
    const computer = start(t);
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await computer.until(makeFeed(storage));
    const first = (await computer.until(postText(storage, { key: 'k', posted: { hash: 'h' } })))!;
    await computer.until(later(computer, ms));
    const second = await computer.until(postText(storage));
    await computer.until(later(computer, ms));
    if (how === 'by hand') computer.disk.placeByHand(`${DATA}/feed/${first}.md`, Buffer.from('changed'));
    else if (how === 'by a client') await computer.until(changeText(storage, first));
    else {
      computer.failing = onceEdited(first);
      await t.rejects(computer.until(changeText(storage, first)), { code: 'store_unavailable' });
      computer.failing = undefined;
      await computer.until(later(computer, 3_000));
    }
    computer.restart(false);
    const again = (await computer.until(openOn(computer, DATA)))!;
    const reread = (await computer.until(again.feed(name)))!;
    const arrivals = (await computer.until(again.arrivals(reread, first, 10)))!;
    t.ok(arrivals.notes.some(({ id }) => id === second));
  });

t.test('a note that was stored long after its date, and edited, is told after a restart', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  const told = (await computer.until(postText(storage)))!;
  await computer.until(later(computer, 2_000));
  // All notes here have the same date.
  const slow = (await computer.until(postText(storage)))!;
  await computer.until(later(computer, 2_000));
  await computer.until(changeText(storage, slow));
  computer.restart(false);
  const again = (await computer.until(openOn(computer, DATA)))!;
  const feed = (await computer.until(again.feed(name)))!;
  t.match(await computer.until(again.arrivals(feed, told, 10)), { notes: [{ id: slow }] });
});

/** Takes the data folder away at the nth call that matches. */
function awayAt(computer: Computer, calls: RegExp, nth: number): Pick<RegExp, 'test'> {
  let count = 0;
  return {
    test(call) {
      if (calls.test(call)) count += 1;
      computer.disk.isAway ||= count === nth && calls.test(call);
      return false;
    },
  };
}

async function bringBack(computer: Computer): Promise<void> {
  computer.failing = undefined;
  computer.disk.isAway = false;
  await computer.until(later(computer, 3_000));
}

t.test(
  'what was refused because the data folder went away is taken back when it is there again',
  async (t) => {
    const computer = start(t);
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await computer.until(makeFeed(storage));
    const id = (await computer.until(postText(storage)))!;
    const feed = (await storage.feed(name))!;
    const writes: (() => Promise<unknown>)[] = [
      () => storage.write({ kind: 'remove', ...toFeed(feed), id }),
      () => postText(storage, { key: 'k', posted: { hash: 'h' } }),
    ];
    for (const write of writes) {
      computer.failing = awayAt(computer, /^rename .*feed\/\.tmp|^rename .*\.tmp-nfs/, 2);
      await t.rejects(computer.until(write()), { code: 'store_unavailable' });
      await computer.until(later(computer, 3_000));
      await bringBack(computer);
      const { notes } = (await computer.until(storage.page(feed, { limit: 10 })))!;
      t.same(
        notes.map((note) => note.id),
        [id],
      );
    }
  },
);

t.test('a change by hand shows although the data folder was away when it was to be read', async (t) => {
  const computer = start(t);
  const storage = (await computer.until(openOn(computer, DATA)))!;
  await computer.until(makeFeed(storage));
  await computer.until(postText(storage));
  await computer.until(later(computer, 2_000));
  computer.failing = awayAt(computer, /by-hand\.md$/, 2);
  computer.disk.placeByHand(`${DATA}/feed/by-hand.md`, Buffer.from('by hand'));
  await computer.until(later(computer, 3_000));
  t.ok(computer.disk.isAway);
  await bringBack(computer);
  t.equal(await computer.until(countOf(storage)), 2);
});

t.test(
  'a folder that cannot be read when it is looked at anew is read once the data folder is back',
  async (t) => {
    const computer = start(t);
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await computer.until(makeFeed(storage));
    await computer.until(later(computer, 2_000));
    // The watch gives the folder up, and finds it again with what has changed in it meanwhile.
    computer.failing = /^lstat .*\/feed$/;
    await computer.until(later(computer, 1_000));
    computer.disk.placeByHand(`${DATA}/feed/.feed.json`, Buffer.from('{"title":"by hand"}'));
    computer.failing = /^open .*\.readid$/;
    await computer.until(later(computer, 1_000));
    computer.failing = undefined;
    computer.disk.isAway = true;
    await computer.until(later(computer, 1_000));
    await bringBack(computer);
    t.match(await computer.until(storage.feed(name)), { title: 'by hand' });
  },
);

t.test(
  'while the data folder is away, an expired note stays so, and no note is without its metadata',
  async (t) => {
    const computer = start(t);
    const storage = (await computer.until(openOn(computer, DATA)))!;
    await computer.until(makeFeed(storage));
    await computer.until(postText(storage, { expires: computer.time.now + 1_000 }));
    const id = (await computer.until(postText(storage, { key: 'k', posted: { hash: 'h' } })))!;
    await computer.until(later(computer, 3_000));
    const feed = (await storage.feed(name))!;
    const sweep = () => storage.write({ kind: 'sweep', ...toFeed(feed) });
    const calls: (() => Promise<unknown>)[] = [
      sweep,
      () => storage.write({ kind: 'describe', ...toFeed(feed), id, meta: { tags: ['a'] } }),
      () => storage.note(feed, id),
    ];
    computer.disk.isAway = true;
    for (const call of calls) await t.rejects(computer.until(call()), { code: 'store_unavailable' });
    await bringBack(computer);
    await computer.until(sweep());
    t.equal(await computer.until(countOf(storage)), 1);
    t.match(await computer.until(storage.note(feed, id)), { meta: { key: 'k' } });
  },
);
