/**
 * Changes of several files at once, stopped at every step: afterwards all of it is there, or nothing. Of the states of the disk
 * after a power cut a stage shows `CRASH_STATES` at most, drawn by `CRASH_SEED`; a number above 16,384 shows all.
 */
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type NoteFile, noteFile } from '../../src/feeds/names.ts';
import { DurableWriter, syncFolder } from '../../src/storage/files/durable.ts';
import { FeedIndex } from '../../src/storage/files/feed-index.ts';
import { scanAll } from '../../src/storage/files/scan.ts';
import { write } from '../../src/storage/files/writes.ts';
import { toFeed } from '../../src/writing/command.ts';
import { type MadeCall, withFailingCalls } from '../support/failing-calls.ts';
import { Random } from '../support/random.ts';
import { NO_LIMITS, OPEN } from '../support/storing.ts';
import { UnsureDisk } from '../support/unsure-disk.ts';
import { feedName, newNote } from './contract.ts';
import { readId } from './contract-support.ts';
import { dataFolder, keptLog, SECRET, writeParts } from './files-support.ts';

// Of all tests together: thousands of folders are made and read again.
t.setTimeout(900_000);

const STATES = Number(process.env.CRASH_STATES ?? 400);
const SEED = Number(process.env.CRASH_SEED ?? randomInt(2 ** 31));
t.comment(`CRASH_SEED=${SEED}`);

const name = feedName('feed');
const text = newNote('the text before', 'md', { title: 'T', tags: [] });
const handPlaced = 'by hand.md';
/** Metadata of notes that have keys, or have expired. */
const EXPIRES = '"expires":"2020-01-01T00:00:00.000Z"';
const marked = {
  'keyed.md': '{"title":"T","key":"k","tags":["a"]}',
  'expired.md': `{"key":"e",${EXPIRES}}`,
  'expired.png': `{${EXPIRES}}`,
};
const notes = [
  newNote('first picture', 'png', { alt: 'A', tags: ['t'] }),
  newNote('second picture', 'gif'),
  newNote('the text', 'md', { tags: ['t'] }),
];

/** They are in two files. */
const settings = { title: 'another title', readId: readId('another-read-id') };

/** What is done in one thread to a folder with a few notes. */
interface Change {
  readonly title: string;
  readonly run: (dir: string, sync?: Sync) => Promise<unknown>;
}
type Sync = (folder: string) => Promise<void>;

const changes: Change[] = [
  { title: 'several notes', run: async (dir, sync) => (await storing(dir, sync)).post() },
  {
    title: 'an edit with pictures',
    run: async (dir, sync) => (await storing(dir, sync)).replace(noteFile(text.id, 'md')),
  },
  {
    title: 'an edit with pictures of a note dated by its file',
    run: async (dir, sync) => (await storing(dir, sync)).replace(handPlaced as NoteFile),
  },
  { title: 'a note under a key', run: async (dir, sync) => (await storing(dir, sync)).keyed('new') },
  { title: 'a note for a key', run: async (dir, sync) => (await storing(dir, sync)).keyed('k', true) },
  {
    title: 'a note under the key of an expired one',
    run: async (dir, sync) => (await storing(dir, sync)).keyed('e'),
  },
  { title: 'a sweep', run: async (dir, sync) => (await storing(dir, sync)).sweep() },
  { title: 'settings', run: async (dir, sync) => (await storing(dir, sync)).configure() },
];

const [posting] = changes;

/** The parts of the storage that write notes, without threads of their own. */
async function storing(dir: string, sync: Sync = syncFolder) {
  const log = keptLog();
  const index = new FeedIndex(SECRET);
  index.addAll(await scanAll(dir, () => {}, log));
  const writer = new DurableWriter(dir, undefined, { sync });
  const parts = writeParts({ dir, index, writer, log });
  const feed = index.get(name)!;
  feed.addFound([
    { file: 'keyed.md' as NoteFile, key: 'k' },
    { file: 'expired.md' as NoteFile, key: 'e', expires: 1 },
    { file: 'expired.png' as NoteFile, expires: 1 },
  ]);
  const bytes = Buffer.from('the text with its pictures');
  const content = { type: 'md', bytes } as const;
  const limits = NO_LIMITS;
  return {
    post: () => write(parts, { kind: 'post', name, target: OPEN, notes, limits }),
    keyed: (key: string, replaces = false) => {
      const keyed = { ...notes[2]!, meta: { key, posted: { hash: 'h' }, tags: ['t'] } };
      return write(parts, { kind: 'post', name, target: OPEN, notes: [keyed], replaces, limits });
    },
    sweep: () => write(parts, { kind: 'sweep', name, target: OPEN }),
    configure: () => write(parts, { kind: 'configure', ...toFeed(feed.record()), settings }),
    replace: (file: NoteFile) =>
      write(parts, {
        ...{ kind: 'replace', ...toFeed(feed.record()), id: feed.notes.get(file)!.id },
        ...{ content, notes: notes.slice(0, 2), limits },
      }),
  };
}

/** In memory if that can be: which calls are made is tested, not the disk, and each of thousands of starts syncs. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A data folder with a feed: a text with metadata, and a note placed by hand. */
async function folderWithFeed(t: Test): Promise<string> {
  const dir = await dataFolder(t, MEMORY);
  await mkdir(join(dir, name));
  await writeFile(join(dir, name, '.readid'), 'some-read-id');
  await writeFile(join(dir, name, noteFile(text.id, 'md')), text.bytes);
  await writeFile(join(dir, name, `.${noteFile(text.id, 'md')}.json`), '{"title":"T"}');
  await writeFile(join(dir, name, handPlaced), 'placed by hand');
  for (const [file, meta] of Object.entries(marked)) {
    await writeFile(join(dir, name, file), 'marked');
    await writeFile(join(dir, name, `.${file}.json`), meta);
  }
  return dir;
}

/** Names and bytes of all files of the feed. Of metadata only whether it says a date: the date is another in each folder. */
async function filesOf(dir: string): Promise<Record<string, string>> {
  const names = (await readdir(join(dir, name))).sort();
  const texts = await Promise.all(names.map((one) => readFile(join(dir, name, one), 'utf8')));
  return Object.fromEntries(names.map((one, i) => [one, texts[i]!.replaceAll(/"20[^"]+Z"/g, '"a date"')]));
}

/** What is there after a start, which must leave no more than the files of notes. */
async function filesAfterStart(dir: string): Promise<Record<string, string>> {
  const log = keptLog();
  const [feed] = await scanAll(dir, () => {}, log);
  const files = await filesOf(dir);
  const shown = Object.keys(files).filter((one) => !one.startsWith('.'));
  if (log.lines.length > 0) throw new Error(log.lines.join());
  if ([...feed!.notes.files()].sort().join() !== shown.join())
    throw new Error('the index is not what is in the folder');
  return files;
}

const without = (files: Record<string, string>, file: string) =>
  Object.fromEntries(Object.entries(files).filter(([one]) => one !== file));

/** The feed's files before the change and after it. */
async function bothStates(t: Test, { run }: Change) {
  const dir = await folderWithFeed(t);
  const before = await filesOf(dir);
  const { outcome, tried } = await withFailingCalls(
    () => false,
    () => run(dir),
  );
  t.ok(outcome.status === 'fulfilled' && outcome.value);
  const after = await filesOf(dir);
  t.notSame(after, before);
  t.same(await filesAfterStart(dir), after);
  return { before, after, tried };
}

/** Which of the two states these files are; a date kept for a hand-placed note is in neither way. */
function which(files: Record<string, string>, { before, after }: Awaited<ReturnType<typeof bothStates>>) {
  const same = (a: object, b: object) => JSON.stringify(a) === JSON.stringify(b);
  if (same(files, after)) return 'after';
  return same(files, before) || same(without(files, `.${handPlaced}.json`), before) ? 'before' : 'between';
}

for (const change of changes) {
  t.test(`${change.title}: killed at any call, it is made or it is not`, async (t) => {
    const states = await bothStates(t, change);
    const found: string[] = [];
    for (let n = 1; n <= states.tried; n += 1) {
      const dir = await folderWithFeed(t);
      const { outcome } = await withFailingCalls(
        (call) => call >= n,
        () => change.run(dir),
      );
      const state = which(await filesAfterStart(dir), states);
      if (state === 'between') t.same(await filesOf(dir), states.before, `killed at call ${n}`);
      if (outcome.status === 'fulfilled') t.equal(state, 'after', `acknowledged before call ${n}`);
      found.push(state);
    }
    t.ok(states.tried > 4);
    t.same([...new Set(found)], ['before', 'after'], 'from one moment on it is made');
  });

  t.test(`${change.title}: a call that fails leaves nothing, or changes nothing`, async (t) => {
    const states = await bothStates(t, change);
    for (let n = 1; n <= states.tried; n += 1) {
      const dir = await folderWithFeed(t);
      const { outcome } = await withFailingCalls(
        (call) => call === n,
        () => change.run(dir),
      );
      const expected = outcome.status === 'fulfilled' ? states.after : states.before;
      if (outcome.status === 'rejected') t.same(await filesOf(dir), expected, `call ${n} failed`);
      t.same(await filesAfterStart(dir), expected, `call ${n} failed, and a start followed`);
    }
  });

  t.test(`${change.title}: a sync that fails, or fails from then on, leaves nothing`, async (t) => {
    const { before } = await bothStates(t, change);
    for (const isLasting of [false, true])
      for (const failing of [1, 2, 3]) {
        const dir = await folderWithFeed(t);
        let syncs = 0;
        const sync = async () => {
          syncs += 1;
          if (isLasting ? syncs >= failing : syncs === failing) throw new Error('the disk is broken');
        };
        await t.rejects(change.run(dir, sync), /broken/);
        t.same(await filesOf(dir), before, `sync ${failing}`);
      }
  });

  t.test(`${change.title}: killed while a sync's failure is undone`, async (t) => {
    const states = await bothStates(t, change);
    // Once an edit's text has its name, taking back the text and the pictures takes more than one step.
    for (const failing of change === posting ? [1, 2, 3] : [1, 2])
      for (let n = 1; n <= 2 * states.tried; n += 1) {
        const dir = await folderWithFeed(t);
        let isUndone = false;
        let syncs = 0;
        const sync = async () => {
          syncs += 1;
          isUndone ||= syncs === failing;
          if (isUndone) throw new Error('the disk is broken');
        };
        let undone = 0;
        const fails = () => {
          if (isUndone) undone += 1;
          return undone >= n;
        };
        await withFailingCalls(fails, () => change.run(dir, sync));
        if (which(await filesAfterStart(dir), states) === 'between')
          t.same(await filesOf(dir), states.before, `sync ${failing} failed, and killed ${n} calls later`);
        if (undone < n) break;
      }
  });

  t.test(`${change.title}: after a power cut at any moment it is made or it is not`, async (t) => {
    const states = await bothStates(t, change);
    // 0: no sync fails. Of one that fails as the last step, any selection of what undoes it is too much to ask.
    for (const failing of [0, 1, 2]) {
      const source = await folderWithFeed(t);
      const disk = new UnsureDisk(await rawFiles(source));
      let syncs = 0;
      const run = async (made: readonly MadeCall[]) => {
        const sync = async () => {
          syncs += 1;
          if (syncs === failing) throw new Error('the disk is broken');
          disk.sync(made);
        };
        await change.run(source, sync).catch(() => undefined);
        disk.end(made);
      };
      await withFailingCalls(() => false, run);
      const dir = await dataFolder(t, MEMORY);
      const found = { before: 0, after: 0, between: 0 };
      for (const { files, isSettled } of disk.possibleStates(STATES, new Random(SEED))) {
        await rm(join(dir, name), { recursive: true, force: true });
        await mkdir(join(dir, name));
        for (const [file, bytes] of files) await writeFile(join(dir, name, file), bytes);
        const state = which(await filesAfterStart(dir), states);
        if (state === 'between') t.same(await filesOf(dir), states.before, [...files.keys()].join());
        const settled = failing === 0 ? 'after' : 'before';
        if (isSettled && state !== settled) t.fail(`everything was synced, and it is ${state}`);
        found[state] += 1;
      }
      // A sync that fails may have done its work.
      t.ok(found.before > 0 && (found.after > 0 || failing > 0), JSON.stringify(found));
    }
  });
}

async function rawFiles(dir: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const file of await readdir(join(dir, name))) files.set(file, await readFile(join(dir, name, file)));
  return files;
}
