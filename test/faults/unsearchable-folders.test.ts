/** Folders of feeds that the service may list but not search, as after a chmod of all that is in DATA_DIR. */
import { chmod } from 'node:fs/promises';
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
  await chmod(folder, 0o755);
  t.ok(await eventually(async () => (await feed.list()).json.notes.length === 1));
});
