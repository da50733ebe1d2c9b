/** Pictures of deleted feeds on PostgreSQL, in a folder, as long as backups need them. */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { countOf, folderPlace, imageSettings, ON_SQLITE, storeAt } from '../support/image-settings.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { start } from '../support/service.ts';

t.setTimeout(600_000);

t.test('pictures of a deleted feed stay for the hours that backups need them', async (t) => {
  const server = await PostgresServer.start(t);
  const [url, place] = [await server.database(), await folderPlace(t)];
  const service = await start(t, {
    ...ON_SQLITE,
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: url,
    ...imageSettings(place),
    SERVICE_IMAGES_KEEP_HOURS: '2',
  });
  const store = await storeAt(t, place);
  const freed = async () => (await server.sql(url, 'SELECT key FROM freed_keys')).map(({ key }) => key);
  const remove = async (name: string, size: number) => {
    const feed = new FeedClient(service.url, name);
    await feed.post(picture('png', size), { 'content-type': 'image/png' });
    const [row] = await server.sql(url, 'SELECT image_key FROM notes');
    t.equal((await feed.send('DELETE', '')).status, 204);
    t.ok(await eventually(async () => (await server.sql(url, 'SELECT FROM notes')).length === 0));
    return row!.image_key;
  };
  const kept = await remove('kept', 1_000);
  const old = await remove('old', 2_000);
  await server.sql(url, 'UPDATE freed_keys SET due_at = due_at - 7200000 WHERE key = $1', [old]);
  t.ok(await eventually(async () => !(await freed()).includes(old)));
  t.same(await freed(), [kept]);
  t.equal(await countOf(store), 1);
});
