/** While an import is under way, the feed is not closed to others. */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PIXEL } from '../support/pictures.ts';
import { connected, PostgresServer } from '../support/postgres.ts';
import { ask, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

t.setTimeout(600_000);

/** More notes than are stored together. */
const TEXTS = 100;

t.test('other writes to the feed go between the batches of a long import', async (t) => {
  const server = await PostgresServer.start(t);
  const database = await server.database();
  const { url } = await start(t, {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: database,
    SERVICE_SECRET: 'a secret of tests that is long enough',
  });
  const client = new FeedClient(url, 'imported');
  const posted = await client.post('before');
  const texts = Array.from({ length: TEXTS }, (_, n) => ({ name: `text ${n}.md`, bytes: `text ${n}` }));
  const body = zipOf([...texts, { name: 'picture.png', bytes: PIXEL }]);
  // Pictures are compared with those that the operator has closed, so the import waits at its last file.
  const gate = await connected(t, database);
  await gate.query('BEGIN; LOCK TABLE operator_records');

  let isOver = false;
  const headers = { 'content-type': 'application/zip' };
  const importing = ask(`${client.record}/import`, { method: 'POST', headers, body }).finally(() => {
    isOver = true;
  });
  const count = async () => (await client.list('?limit=100')).json.notes.length;
  t.ok(await eventually(async () => isOver || (await count()) > 1), 'the first notes show');
  const meanwhile = await client.post('meanwhile');
  t.equal(meanwhile.status, 201);
  t.ok((await client.send('DELETE', `/notes/${posted.json.id}`)).status < 300);
  t.equal((await client.set({ title: 'Meanwhile' })).status, 200);
  t.notOk(isOver);
  await gate.query('COMMIT');
  t.match((await importing).json, { imported: TEXTS + 1, skipped: 0, refused: [] });
  t.match((await client.get()).json, { title: 'Meanwhile' });
  t.match((await client.get(`/notes/${meanwhile.json.id}`)).json, { content: 'meanwhile' });
  t.equal((await client.get(`/notes/${posted.json.id}`)).status, 404);
});
