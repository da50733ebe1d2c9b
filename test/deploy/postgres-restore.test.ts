/** A PostgreSQL database is backed up and restored as docs/backups.md says, with the programs of PostgreSQL. */
import { randomBytes } from 'node:crypto';
import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { lookAtDatabase } from '../../src/storage/postgres/look.ts';
import { containerSettings } from '../support/containers.ts';
import { blockWith, runBlock } from '../support/documented.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { missing, program } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { PostgresPair } from '../support/postgres-pair.ts';
import { ask, start, tempDir } from '../support/service.ts';

/** The commands of docs/backups.md, for a database and a folder of backups. */
const documented = (part: string, url: string, backups: string) =>
  runBlock(
    blockWith('docs/backups.md', '## PostgreSQL', part),
    { SERVICE_DATABASE_URL: url, PATH: `${join(program('pg_dump'), '..')}:${process.env.PATH}` },
    { '/backups': backups },
  );
/** The server programs of the same version as `pg_dump`. */
const programs = () => ({ initdb: program('initdb'), postgres: program('postgres') });
const PASSWORD = { 'x-feed-password': 'open sesame' };

t.setTimeout(600_000);

t.test('what was dumped is there in a new database', { skip: missing('pg_dump') }, async (t) => {
  const server = await PostgresServer.start(t, [], programs());
  const old = await server.database();
  const before = await start(t, containerSettings(old));
  const feed = new FeedClient(before.url, 'curlew', PASSWORD);
  const { json } = await feed.post('# Grüße', { 'x-note-tags': 'one' });
  const image = picture('png', 300_000);
  const shown = (await feed.post(image, { 'content-type': 'image/png' })).json;
  const backups = await tempDir(t);
  await documented('pg_dump', old, backups);
  await feed.post('after the dump');
  await before.stop();

  const fresh = await server.database();
  await documented('pg_restore', fresh, backups);
  const after = await start(t, containerSettings(fresh));
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

t.test(
  'a restore that ends early leaves nothing, and is run again',
  { skip: missing('pg_dump') },
  async (t) => {
    const server = await PostgresServer.start(t, [], programs());
    const old = await server.database();
    const before = await start(t, containerSettings(old));
    const feed = new FeedClient(before.url, 'curlew');
    await feed.post(randomBytes(50_000).toString('hex'));
    await before.stop();
    const [whole, cut] = [await tempDir(t), await tempDir(t)];
    for (const backups of [whole, cut]) await documented('pg_dump', old, backups);
    const { size } = await stat(join(cut, 'notes-1.dump'));
    await truncate(join(cut, 'notes-1.dump'), Math.floor(size / 2));

    const fresh = await server.database();
    await t.rejects(documented('pg_restore', fresh, cut), /end of file/);
    t.match(await lookAtDatabase(fresh), 'empty');
    await documented('pg_restore', fresh, whole);
    const after = await start(t, containerSettings(fresh));
    t.equal((await new FeedClient(after.url, 'curlew').list()).json.notes.length, 1);
  },
);

t.test(
  'a dump is made of the host that takes writes, whichever the URL names first',
  { skip: missing('pg_dump') },
  async (t) => {
    const pair = await PostgresPair.start(t, programs());
    const { primary, standby } = pair;
    const hosts = [standby, primary].map(({ port }) => `127.0.0.1:${port}`);
    const url = pair.url.replace(/@[^/]+/, `@${hosts.join()}`);
    const before = await start(t, containerSettings(url));
    const feed = new FeedClient(before.url, 'curlew');
    await feed.post('on both');
    await eventually(async () => (await pair.notesOn(standby)) === 1);
    // It has what is acknowledged from now on, and does not show it.
    await standby.sql('postgres', 'SELECT pg_wal_replay_pause()');
    t.equal((await feed.post('acknowledged')).status, 201);
    const backups = await tempDir(t);
    await documented('pg_dump', url, backups);
    await before.stop();
    await standby.sql('postgres', 'SELECT pg_wal_replay_resume()');

    const fresh = await primary.database();
    await documented('pg_restore', fresh, backups);
    const after = await start(t, containerSettings(fresh));
    t.equal((await new FeedClient(after.url, 'curlew').list()).json.notes.length, 2);
  },
);
