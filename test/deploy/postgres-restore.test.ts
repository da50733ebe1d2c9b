/** A PostgreSQL database is backed up and restored as docs/deploy.md says, with the programs of PostgreSQL. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { missing, program } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, start, tempDir } from '../support/service.ts';

const run = promisify(execFile);
const PASSWORD = { 'x-feed-password': 'open sesame' };

t.setTimeout(600_000);

t.test('what was dumped is there in a new database', { skip: missing('pg_dump') }, async (t) => {
  const programs = { initdb: program('initdb'), postgres: program('postgres') };
  const server = await PostgresServer.start(t, [], programs);
  const old = await server.database();
  const settings = (url: string) => ({
    SERVICE_STORAGE: 'postgres',
    SERVICE_SECRET: 'a secret of tests that is long enough',
    SERVICE_DATABASE_URL: url,
  });
  const before = await start(t, settings(old));
  const feed = new FeedClient(before.url, 'curlew', PASSWORD);
  const { json } = await feed.post('# Grüße', { 'x-note-tags': 'one' });
  const image = picture('png', 300_000);
  const shown = (await feed.post(image, { 'content-type': 'image/png' })).json;
  const dump = join(await tempDir(t), 'notes.dump');
  await run(program('pg_dump'), ['-Fc', '-f', dump, old]);
  await feed.post('after the dump');
  await before.stop();

  const fresh = await server.database();
  await run(program('pg_restore'), ['--no-owner', '--exit-on-error', '-d', fresh, dump]);
  const after = await start(t, settings(fresh));
  const restored = new FeedClient(after.url, 'curlew', PASSWORD);
  const { notes } = (await restored.list()).json;
  t.match(notes, [
    { id: shown.id, type: 'image/png' },
    { id: json.id, content: '# Grüße', tags: ['one'] },
  ]);
  t.equal(notes.length, 2);
  const here = (link: string) => after.url + new URL(link).pathname;
  t.ok((await ask(here(shown.file_url))).bytes.equals(image));
  t.match((await ask(here(json.read_url))).text, json.id.slice(-36));
  t.equal((await new FeedClient(after.url, 'curlew').list()).status, 401, 'it is still protected');
  t.equal((await restored.post('goes on')).status, 201);
  t.equal((await new FeedClient(after.url, 'another').post()).status, 201);
});
