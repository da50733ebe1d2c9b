/** The limit of feeds is exact while posts wait for a disk that is slow. */
import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

const PNG = { 'content-type': 'image/png' };

t.test('posts that make feeds with pictures, while the operator closes a picture', async (t) => {
  const dir = await dataDir(t);
  const orders = `${dir}.sync`;
  const { url } = await ServiceProcess.start(t, {
    dir,
    env: { ...WITH_OPERATOR, SYNC_FILE: orders, SERVICE_STORAGE: 'fs', SERVICE_MAX_FEEDS: '3' },
    flags: ['--import', new URL('../support/held-sync.mjs', import.meta.url).href],
  });
  const { json } = await new FeedClient(url, 'marten').post(picture('png', 64, 1_000), PNG);
  await writeFile(`${orders}.new`, JSON.stringify({ order: 'hold' }));
  await rename(`${orders}.new`, orders);
  const taken = operate(url, 'POST', '/takedown', { target: json.file_url, block: true });
  t.ok(await eventually(async () => existsSync(join(dir, '.blocklist'))));
  const posts = Array.from({ length: 6 }, (_, i) =>
    new FeedClient(url, `stoat-${i}`).post(picture('png', 64, i), PNG),
  );
  await delay(300);
  await rm(orders);
  t.equal((await taken).status, 200);
  const statuses = (await Promise.all(posts)).map(({ status }) => status);
  t.same(statuses.sort(), [201, 201, 507, 507, 507, 507]);
  t.match((await operate(url, 'GET', '/stats')).json, { feeds: 3 });
});
