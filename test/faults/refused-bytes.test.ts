/** A change that the disk refuses is seen by nobody: neither while it is being stored nor afterwards. */
import { readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { ask, post, type Reply } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

const dir = await dataDir(t);
const orders = `${dir}.sync`;
const service = await ServiceProcess.start(t, {
  dir,
  env: { SYNC_FILE: orders, SERVICE_STORAGE: 'fs' },
  flags: ['--import', new URL('../support/held-sync.mjs', import.meta.url).href],
});
const { url } = service;

const OLD_TEXT = 'old text';

/** The next syncs of folders wait, fail or, without an order, succeed; they succeed while the file at `path` is as posted. */
async function order(what?: 'hold' | 'fail', path?: string): Promise<void> {
  if (what === undefined) return rm(orders, { force: true });
  await writeFile(`${orders}.new`, JSON.stringify({ order: what, path, text: OLD_TEXT }));
  await rename(`${orders}.new`, orders);
}

interface Posted {
  readonly id: string;
  readonly note: string;
  readonly readId: string;
  readonly path: string;
  readonly fileUrl: string;
}

/** A note of a feed of its own, which nobody has read yet. */
async function posted(feed: string): Promise<Posted> {
  const { json } = await post(`${url}/${feed}`, OLD_TEXT, { 'x-note-title': 'old', 'x-note-tags': 'old' });
  const [, readId = ''] = /\/r\/([^/]+)\//.exec(json.read_url)!;
  const path = join(service.dir, feed, basename(json.file_url));
  const note = `${url}/api/v1/feeds/${feed}/notes/${json.id}`;
  return { id: json.id, note, readId, path, fileUrl: json.file_url };
}

type Read = (posted: Posted) => string;
const READS: Record<string, Read> = {
  file: ({ fileUrl }) => fileUrl,
  rss: ({ readId }) => `${url}/r/${readId}/feed.xml`,
  page: ({ readId }) => `${url}/r/${readId}`,
  list: ({ readId }) => `${url}/api/v1/read/${readId}/notes`,
  note: ({ readId, id }) => `${url}/api/v1/read/${readId}/notes/${id}`,
  'by-name': ({ note }) => note,
  'old-tag': ({ readId }) => `${url}/r/${readId}/feed.json?tag=old`,
  'new-tag': ({ readId }) => `${url}/r/${readId}/feed.json?tag=new`,
};

interface Change {
  readonly init: RequestInit;
  /** What it changes; the note unless given. */
  readonly target?: (posted: Posted) => string;
  readonly isOnDisk: (posted: Posted) => Promise<boolean>;
  /** It has syncs before the file of the note changes, which succeed. */
  readonly syncsBefore?: true;
}

const textOf = (path: string) => readFile(path, 'utf8').catch(() => '');
const metaPath = ({ path }: Posted) => path.replace(/[^/]+$/, '.$&.json');
const isGone = async ({ path }: Posted) => (await textOf(path)) === '';
const CHANGES: Record<string, Change> = {
  put: {
    init: { method: 'PUT', body: 'new text', headers: { 'content-type': 'text/markdown' } },
    isOnDisk: async ({ path }) => (await textOf(path)) === 'new text',
    // Of the intent to change the metadata with the bytes.
    syncsBefore: true,
  },
  patch: {
    init: { method: 'PATCH', body: JSON.stringify({ title: 'new', tags: ['new'] }) },
    isOnDisk: async (posted) => (await textOf(metaPath(posted))).includes('new'),
  },
  delete: { init: { method: 'DELETE' }, isOnDisk: isGone },
  'delete-feed': {
    init: { method: 'DELETE' },
    target: ({ note }) => note.replace(/\/notes.*/, ''),
    isOnDisk: isGone,
    // The read id of a feed is retired before the feed goes.
    syncsBefore: true,
  },
};

/** Some turns of the service, so that it has begun what came before. */
async function takeTurns(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await ask(`${url}/health`);
}

/** The answers of a read while a change is on the disk that is then refused, and after it. */
async function readRefused(t: Test, note: Posted, change: Change, read: Read): Promise<Reply[]> {
  const { init, target = () => note.note, isOnDisk, syncsBefore } = change;
  await order('hold', syncsBefore && note.path);
  const changing = ask(target(note), init);
  t.ok(await eventually(() => isOnDisk(note)), 'it is on the disk');
  const reading = ask(read(note));
  await takeTurns();
  await order('fail');
  t.equal((await changing).status, 503);
  const replies = [await reading, await ask(read(note))];
  await order();
  t.ok((await ask(target(note), init)).status < 300, 'well again');
  return replies;
}

for (const [what, change] of Object.entries(CHANGES))
  for (const [how, read] of Object.entries(READS))
    for (const age of ['old', 'new'])
      t.test(`a refused ${what} of a file that is ${age}, read as ${how}`, async (t) => {
        const note = await posted(`${what}-${how}-${age}`);
        // The date of a file that has just been changed does not tell what it holds.
        const date = new Date(Date.now() + (age === 'old' ? -100_000 : 10));
        for (const path of [metaPath(note), note.path]) await utimes(path, date, date);
        for (const { status, text } of await readRefused(t, note, change, read)) {
          t.equal(status, 200);
          t.notMatch(text, /new text|<title>new|"title":"new"/);
          if (how !== 'new-tag') t.match(text, /old/);
        }
      });
