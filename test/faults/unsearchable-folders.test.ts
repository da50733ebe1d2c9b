/** Folders of feeds that the service may list but not search, as after a chmod of all that is in DATA_DIR. */
import { chmod, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { ServiceProcess } from '../support/service-process.ts';

const LISTED_ONLY = 0o644;
const env = { SERVICE_STORAGE: 'fs' };

t.test('a feed whose folder cannot be searched at the start is there as soon as it can be', async (t) => {
  const service = await ServiceProcess.start(t, { env });
  await new FeedClient(service.url, 'feed').post('text');
  await service.kill('SIGTERM');
  const folder = join(service.dir, 'feed');
  await chmod(folder, LISTED_ONLY);
  const again = await ServiceProcess.start(t, { dir: service.dir, env });
  await again.says('the folder of a feed cannot be read and is ignored');
  const feed = new FeedClient(again.url, 'feed');
  t.equal((await feed.get()).status, 404);
  t.match(await feed.post('text'), { status: 503, json: { code: 'store_unavailable' } });
  await chmod(folder, 0o755);
  t.ok(await eventually(async () => (await feed.list()).json.notes.length === 1));
});

t.test(
  'a reserved feed whose folder is a link, or cannot be searched, does not stop the start',
  async (t) => {
    const reserved = { ...env, SERVICE_RESERVED_FEEDS: 'gazette,bulletin,herald' };
    const settings = { ...reserved, SERVICE_RESERVED_PASSWORD: 'editors only' };
    const headers = { 'x-feed-password': 'editors only' };
    const service = await ServiceProcess.start(t, { env: settings });
    await new FeedClient(service.url, 'gazette', headers).post('text');
    await service.kill('SIGTERM');
    const folder = join(service.dir, 'gazette');
    await chmod(folder, LISTED_ONLY);
    await rename(join(service.dir, 'bulletin'), join(service.dir, 'Bulletin'));
    await symlink('Bulletin', join(service.dir, 'bulletin'));
    const again = await ServiceProcess.start(t, { dir: service.dir, env: settings });
    const warnings = () => again.lines.filter(({ msg }) => msg === 'a reserved feed is not as it should be');
    t.ok(await eventually(async () => warnings().length === 2));
    t.match(warnings(), [{ place: 1 }, { place: 2 }]);
    t.equal((await new FeedClient(again.url, 'herald', headers).post('text')).status, 201);
    const gazette = new FeedClient(again.url, 'gazette', headers);
    t.equal((await gazette.post('text')).status, 400);
    await chmod(folder, 0o755);
    t.ok(await eventually(async () => (await gazette.list()).json.notes?.length === 1));
  },
);

t.test('notes of a feed whose folder cannot be searched for a while are the same afterwards', async (t) => {
  const service = await ServiceProcess.start(t, { env });
  const feed = new FeedClient(service.url, 'by-hand');
  const folder = join(service.dir, 'by-hand');
  await mkdir(folder);
  for (const name of ['one', 'two']) await writeFile(join(folder, `${name}.md`), name);
  const shows = (count: number) => eventually(async () => (await feed.list()).json.notes?.length === count);
  t.ok(await shows(2));
  const etag = async () => (await feed.get()).headers.get('etag');
  const before = await etag();
  await chmod(folder, LISTED_ONLY);
  const isTold = () => service.lines.some(({ msg }) => msg === 'a change by hand could not be taken in');
  t.ok(await eventually(isTold));
  await chmod(folder, 0o755);
  t.ok(await shows(2));
  t.equal(await etag(), before, 'nothing has changed');
  await writeFile(join(folder, 'three.md'), 'three');
  t.ok(await shows(3));
});

t.test('an empty folder that cannot be searched is no feed', async (t) => {
  const service = await ServiceProcess.start(t, { env });
  // The service ignores a folder of this name, so the rights can be taken away before the folder gets its real name.
  const made = join(service.dir, '.closed');
  await mkdir(made);
  await chmod(made, LISTED_ONLY);
  await rename(made, join(service.dir, 'closed'));
  await service.says('the folder of a feed cannot be read and is ignored');
  t.equal((await new FeedClient(service.url, 'closed').get()).status, 404);
});
