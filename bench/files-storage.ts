/**
 * Measures the files storage by itself: the start with 10,000 feeds and with one feed of 100,000 notes, pages of
 * 50 from the disk and from memory, and durable posts beside the same steps done one at a time.
 *
 * Run it with `UV_THREADPOOL_SIZE=24 node bench/files-storage.ts`; 10 to 60 s.
 */
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NoteIds } from '../src/feeds/ids.ts';
import type { FeedName } from '../src/feeds/names.ts';
import type { NewNote } from '../src/feeds/note.ts';
import { openFiles } from '../src/storage/files/files.ts';
import type { Storage } from '../src/storage/storage.ts';
import { reads, writes } from '../test/support/storing.ts';

const ids = new NoteIds();
const note = (bytes: Uint8Array): NewNote => ({ id: ids.next(), type: 'md', meta: { tags: ['t'] }, bytes });
const KILOBYTE = Buffer.alloc(1024, 0x61);
const log = { warn: console.error, error: console.error };

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'files-bench-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const OPEN = { kind: 'existing', passwordHash: undefined } as const;
const NO_LIMITS = { texts: 0, images: 0 };
const open = (dir: string) =>
  openFiles({ dir, secret: Buffer.alloc(32), maxFeeds: 0, maxBytes: 0, keepDays: 0, log });

async function timed<T>(label: string, work: () => Promise<T> | T): Promise<T> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const result = await work();
  const ms = performance.now() - start;
  const used = process.cpuUsage(cpu);
  console.log(
    `${label.padEnd(44)} ${ms.toFixed(2).padStart(10)} ms ${((used.user + used.system) / 1000).toFixed(0).padStart(8)} ms CPU`,
  );
  return result;
}

async function manyFeeds(): Promise<void> {
  const dir = folder();
  for (let i = 0; i < 10_000; i += 1) {
    mkdirSync(join(dir, `feed-${i}`));
    writeFileSync(join(dir, `feed-${i}`, '.readid'), `read-id-${i}`);
    for (let n = 0; n < 3; n += 1) writeFileSync(join(dir, `feed-${i}`, `${ids.next()}.md`), KILOBYTE);
  }
  const storage = await timed('start with 10,000 feeds of 3 notes', () => open(dir));
  await new Promise((resolve) => setTimeout(resolve, 5000));
  await timed('10,000 feeds, 5 s of nothing', () => new Promise((resolve) => setTimeout(resolve, 5000)));
  await storage.close();
}

async function largeFeed(): Promise<void> {
  const dir = folder();
  const name = 'large' as FeedName;
  mkdirSync(join(dir, name));
  for (let i = 0; i < 100_000; i += 1) {
    const file = `${ids.next()}.md`;
    writeFileSync(join(dir, name, file), KILOBYTE);
    if (i % 2) writeFileSync(join(dir, name, `.${file}.json`), '{"tags":["x"]}');
  }
  const storage = await timed('start with a feed of 100,000 notes', () => open(dir));
  const first = await timed('first page of 50, from the disk', () =>
    reads(storage).page(name, { limit: 50 }),
  );
  await timed('the same page, from memory', () => reads(storage).page(name, { limit: 50 }));
  await timed('100 different pages of 50, from the disk', () => pages(storage, name, 100, first.next));
  await timed('first use of a tag', () => reads(storage).page(name, { limit: 50, tag: 'x' }));
  await timed('second use of a tag', () => reads(storage).page(name, { limit: 50, tag: 'x' }));
  await posts('posts into it, 64 at once', storage, [name], 5000);
  await storage.close();
}

async function pages(
  storage: Storage,
  name: FeedName,
  count: number,
  from: Awaited<ReturnType<Storage['page']>>['next'],
) {
  let before = from;
  for (let i = 0; i < count && before; i += 1)
    before = (await reads(storage).page(name, { limit: 50, before })).next;
}

async function posts(label: string, storage: Storage, names: FeedName[], count: number): Promise<void> {
  for (const name of new Set(names)) await writes(storage).create(name, { passwordHash: undefined });
  let left = count;
  const client = async (i: number) => {
    while (left-- > 0)
      await writes(storage).post(
        names[i % names.length]!,
        [{ ...note(KILOBYTE), meta: { tags: [] } }],
        OPEN,
        NO_LIMITS,
      );
  };
  const start = performance.now();
  await timed(label, () => Promise.all(Array.from({ length: 64 }, (_, i) => client(i))));
  console.log(`${''.padEnd(44)} ${Math.round((count / (performance.now() - start)) * 1000)} posts/s`);
}

function oneAtATime(count: number): void {
  const dir = folder();
  for (let i = 0; i < count; i += 1) {
    const temp = join(dir, `.tmp-${i}`);
    const fd = openSync(temp, 'wx');
    writeSync(fd, KILOBYTE);
    fdatasyncSync(fd);
    closeSync(fd);
    renameSync(temp, join(dir, `${ids.next()}.md`));
    const parent = openSync(dir, 'r');
    fsyncSync(parent);
    closeSync(parent);
  }
}

async function durablePosts(): Promise<void> {
  const storage = await open(folder());
  const names = Array.from({ length: 8 }, (_, i) => `f${i}` as FeedName);
  const start = performance.now();
  await timed('2,000 files, one sync at a time', () => oneAtATime(2000));
  console.log(`${''.padEnd(44)} ${Math.round((2000 / (performance.now() - start)) * 1000)} posts/s`);
  await posts('20,000 posts, 64 at once, one feed', storage, names.slice(0, 1), 20_000);
  await posts('20,000 posts, 64 at once, 8 feeds', storage, names, 20_000);
  await storage.close();
}

await durablePosts();
await largeFeed();
await manyFeeds();
