import { once } from 'node:events';
import { createServer } from 'node:net';
import t from 'tap';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { edits, NEW, NO_LIMITS, post, reads, writes } from '../support/storing.ts';
import { feedName, idsOf, newNote } from './contract.ts';
import { tally } from './contract-support.ts';
import { keptLog } from './files-support.ts';
import { opened } from './postgres-support.ts';

t.setTimeout(120_000);

const server = await PostgresServer.start(t);
const name = feedName('feed');
const SETTINGS = { SERVICE_STORAGE: 'postgres', SERVICE_SECRET: 'a secret of tests that is long enough' };
const refused = (url: string) => openPostgres({ url, maxFeeds: 0, keepDays: 0, log: keptLog() });

t.test(
  'a database that cannot be used is refused with a sentence that holds nothing of its address',
  async (t) => {
    await server.sql('postgres', `CREATE ROLE mallory LOGIN`);
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.teardown(() => silent.close());
    const { port } = silent.address() as { port: number };
    const url = await server.database();
    const cases: [url: string, reason: string][] = [
      [url.replace('postgres@', 'nobody:hush@'), '28000: this user may not connect'],
      [`${url}x`, '3D000: no such database'],
      [url.replace('postgres@', 'mallory:hush@'), '42501: this user may not make tables there'],
      ['postgres://me:hush@127.0.0.1:1/notes', 'ECONNREFUSED: nothing listens there'],
      ['postgres://me:hush@nowhere.invalid/notes', 'ENOTFOUND: unknown host'],
      [`postgres://me:hush@127.0.0.1:${port}/notes`, 'timeout expired'],
      [`${url}?sslmode=verify-full`, 'The server does not support SSL connections'],
      [`${url}?sslrootcert=/nowhere`, 'ENOENT'],
    ];
    const message = (reason: string) =>
      `The database named by SERVICE_DATABASE_URL cannot be used (${reason}).`;
    await Promise.all(
      cases.map(([address, reason]) =>
        t.rejects(refused(address), { message: message(reason), cause: undefined }),
      ),
    );
  },
);

t.test(
  'a wrong password stops the service with one line that holds neither it nor the address',
  async (t) => {
    await server.sql('postgres', `CREATE ROLE locked LOGIN PASSWORD 'right'`);
    await server.askPasswordOf('locked');
    const url = `${(await server.database()).replace('postgres@', 'locked:hush@')}?sslmode=disable`;
    const env = { ...SETTINGS, SERVICE_DATABASE_URL: url, SERVICE_LOG_LEVEL: 'debug' };
    const service = await ServiceProcess.launch(t, { env });
    t.match(await service.exit, { code: 1 });
    t.equal(
      service.errors,
      'Note Feed cannot start: The database named by SERVICE_DATABASE_URL cannot be used (28P01: wrong user or password).\n',
    );
    for (const secret of ['hush', 'locked', '127.0.0.1', String(server.port)])
      t.notMatch(JSON.stringify(service.lines), secret);
  },
);

t.test('a database of a newer version, or of something else, is refused and left alone', async (t) => {
  const url = await server.database();
  await (await refused(url)).close();
  await server.sql(url, 'UPDATE note_feed_schema SET version = 999');
  await t.rejects(refused(url), { message: /made by a newer version .* \(schema 999, this one knows \d+\)/ });
  t.same(await server.sql(url, 'SELECT version FROM note_feed_schema'), [{ version: 999 }]);
  const others = await server.database();
  await server.sql(others, 'CREATE TABLE notes (body text)');
  await t.rejects(refused(others), { message: /is used by something else: it has a table "notes"/ });
  t.same(await server.sql(others, `SELECT to_regclass('feeds')::text AS feeds`), [{ feeds: null }]);
  await server.sql('postgres', `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
  await t.rejects(refused(server.url('latin')), { message: /must have the encoding UTF8/ });
});

t.test('several may start on a new database at the same instant, and make the same feed', async (t) => {
  const url = await server.database();
  const storages = await Promise.all(Array.from({ length: 4 }, () => opened(t, url)));
  for (let round = 0; round < 5; round += 1) {
    const one = feedName(`feed-${round}`);
    const makes = storages.flatMap((storage, n) => [
      writes(storage).post(one, [newNote(`${n}`)], { ...NEW, passwordHash: `${n}` }, NO_LIMITS),
      writes(storage).create(one, NEW),
    ]);
    const made = (await Promise.all(makes)).filter((feed) => feed !== undefined);
    t.equal(made.length, 1);
    for (const storage of storages) t.match(await storage.feed(one), { readId: made[0]!.readId });
  }
  t.same(await server.sql(url, 'SELECT feeds::int FROM feed_count'), [{ feeds: 5 }]);
});

t.test('limits hold exactly across all that use the database', async (t) => {
  const url = await server.database();
  const [maxFeeds, limits] = [5, { texts: 7, images: 3 }];
  const storages = await Promise.all([opened(t, url, { maxFeeds }), opened(t, url, { maxFeeds })]);
  const makes = Array.from({ length: 40 }, (_, i) =>
    writes(storages[i % 2]!).create(feedName(`feed-${i % 20}`), NEW),
  );
  const made = tally(await Promise.allSettled(makes));
  t.equal(made.object, 5, JSON.stringify(made));
  await edits(storages[0]!).deleteFeed((await firstFeed(storages[0]!))!);
  await writes(storages[1]!).create(name, NEW);
  await t.rejects(writes(storages[0]!).create(feedName('one-more'), NEW), { code: 'feed_limit' });
  const open = { kind: 'existing', passwordHash: undefined } as const;
  const notes = Array.from({ length: 60 }, (_, i) => newNote(`${i}`, i % 2 ? 'md' : 'png'));
  const posts = notes.map((note, i) => writes(storages[(i >> 1) % 2]!).post(name, [note], open, limits));
  t.same(tally(await Promise.allSettled(posts)), { object: 10, note_limit: 23, image_limit: 27 });
  t.match(await storages[1]!.feed(name), { noteCount: 10, imageCount: 3 });
});

async function firstFeed(storage: Awaited<ReturnType<typeof opened>>) {
  for (let i = 0; i < 20; i += 1) if (await storage.feed(feedName(`feed-${i}`))) return feedName(`feed-${i}`);
  return undefined;
}

t.test('changes of one feed through several are done one after the other', async (t) => {
  const url = await server.database();
  const storages = await Promise.all([opened(t, url), opened(t, url)]);
  const note = newNote('x', 'md', { title: '0', tags: [] });
  await post(storages[0]!, name, note);
  const works = Array.from({ length: 8 }, (_, i) => {
    const { describe, configure } = edits(storages[i % 2]!);
    return [
      describe(name, note.id, i % 4 < 2 ? { title: 'T' } : { tags: ['t'] }),
      configure(name, i % 4 < 2 ? { title: 'T' } : { description: 'D' }),
      post(storages[(i + 1) % 2]!, name, newNote(`${i}`)),
    ];
  });
  await Promise.all(works.flat());
  t.same((await reads(storages[1]!).note(name, note.id))?.meta, { title: 'T', tags: ['t'] });
  t.match(await storages[0]!.feed(name), { title: 'T', description: 'D', noteCount: 9 });
  t.equal(idsOf(await reads(storages[1]!).page(name, { limit: 100 })).length, 9);
});
