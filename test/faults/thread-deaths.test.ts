/** Threads of the plain files that die: what they had begun becomes whole, and others take their place. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { leftovers } from '../support/leftovers.ts';
import { field, png } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

const ON_FILES = { SERVICE_STORAGE: 'fs' };
const support = (name: string) => [`--import=${new URL(`../support/${name}`, import.meta.url)}`];

/** A folder that the service may remove files from after it gave up being root. */
async function orderDir(t: Test): Promise<string> {
  const dir = await tempDir(t);
  await chmod(dir, 0o777);
  return dir;
}

t.test('a form that the writer dies in becomes whole, and is not stored twice', async (t) => {
  const order = join(await orderDir(t), 'die');
  const env = { ...ON_FILES, DYING_FILE: order };
  const service = await ServiceProcess.start(t, { env, flags: support('dies-in-change.mjs') });
  const feed = new FeedClient(service.url, 'form');
  await feed.post('the feed is there');
  await writeFile(order, '');
  const parts = ['a.png', 'b.png'].map((name, n) => png(name, picture('png', 2_000, n)));
  const post = () =>
    feed.postForm([field('text', '![](<a.png>) ![](<b.png>)'), ...parts], { 'idempotency-key': 'form' });
  // The one that waits for the other is not written by the next thread before that is ended.
  const replies = await Promise.all([post(), post()]);
  const refused = replies.filter(({ status }) => status !== 201);
  t.ok(refused.length > 0);
  for (const { status, json, headers } of refused) {
    t.same([status, json.code], [503, 'store_unavailable']);
    t.ok(headers.has('retry-after'));
  }
  t.notOk(existsSync(order), 'the thread died');
  t.equal((await post()).status, 201);
  const { notes } = (await feed.list()).json;
  t.equal(notes.length, 4);
  t.ok(await eventually(async () => (await leftovers(service.dir)).length === 0));
  t.same((await feed.list()).json.notes, notes);
  t.equal((await feed.get()).status, 200);
});

t.test('another watch sees what was changed by hand while there was none', async (t) => {
  const dir = await orderDir(t);
  const env = { ...ON_FILES, DYING_DIR: dir };
  const service = await ServiceProcess.start(t, { env, flags: support('dying-threads.mjs') });
  await writeFile(join(dir, 'watch-files'), 'idle exit');
  t.ok(await eventually(() => !existsSync(join(dir, 'watch-files'))));
  await mkdir(join(service.dir, 'by-hand'));
  await writeFile(join(service.dir, 'by-hand', 'new.md'), 'new');
  const feed = new FeedClient(service.url, 'by-hand');
  t.ok(await eventually(async () => (await feed.list()).json.notes.length === 1));
  await service.says('the thread that sees changes by hand has died, and is started again');
});
