import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { feedName, idsOf, newNote } from './contract.ts';
import { heard, tally } from './contract-support.ts';
import { keptLog } from './files-support.ts';
import { opened } from './postgres-support.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);
const name = feedName('feed');
const SETTINGS = { SERVICE_STORAGE: 'postgres', SERVICE_SECRET: 'a secret of tests that is long enough' };
const refused = (url: string) => openPostgres({ url, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: keptLog() });

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
  t.same(await server.sql(url, 'SELECT sum(feeds)::int AS feeds FROM feed_counts'), [{ feeds: 5 }]);
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

t.test('bytes are counted exactly by all that limit them, whatever each does at once', async (t) => {
  const url = await server.database();
  const [maxBytes, target] = [4_000, OPEN];
  const storages = await Promise.all([opened(t, url, { maxBytes }), opened(t, url, { maxBytes })]);
  const names = Array.from({ length: 6 }, (_, i) => feedName(`feed-${i}`));
  for (const one of names) await post(storages[0]!, one, newNote('x'.repeat(500)));
  const works = Array.from({ length: 60 }, (_, i) => {
    const [storage, one] = [storages[i % 2]!, names[i % 5]!];
    const note = newNote('x'.repeat(100 + i), i % 3 ? 'md' : 'png');
    if (i % 15 === 7) return edits(storage).deleteFeed(one);
    if (i % 4 === 3) return post(storage, feedName(`new-${i}`), note);
    return writes(storage).post(one, [note], target, NO_LIMITS);
  });
  const { boolean: _deleted, ...outcomes } = tally(await Promise.allSettled(works));
  t.ok(outcomes.object && outcomes.byte_limit, JSON.stringify(outcomes));
  t.strictSame(
    Object.keys(outcomes).filter((one) => !['object', 'byte_limit', 'undefined'].includes(one)),
    [],
  );
  const check = async () => {
    const [sums] = await server.sql(
      url,
      `SELECT sum(bytes)::int AS bytes, (SELECT sum(byte_count)::int FROM feeds) AS of_feeds,
         (SELECT sum(size)::int FROM notes JOIN feeds ON feeds.id = feed WHERE name IS NOT NULL) AS of_notes FROM feed_counts`,
    );
    const { bytes } = await storages[1]!.totals();
    t.same(sums, { bytes, of_feeds: bytes, of_notes: bytes });
    return bytes;
  };
  const left = maxBytes - (await check());
  t.ok(left >= 0, `${left} bytes are left`);
  const last = names[5]!;
  for (const storage of storages)
    await t.rejects(post(storage, last, newNote('x'.repeat(left + 1))), { code: 'byte_limit', status: 507 });
  await post(storages[1]!, last, newNote('x'.repeat(left)));
  await t.rejects(post(storages[0]!, last, newNote('x')), { code: 'byte_limit' });
  t.equal(await check(), maxBytes);
});

t.test('a start with a limit of bytes counts what was stored without one', async (t) => {
  const url = await server.database();
  const counted = async () =>
    (await server.sql(url, 'SELECT sum(bytes)::int AS bytes FROM feed_counts'))[0]!.bytes;
  const free = await opened(t, url);
  await post(free, name, [newNote('x'.repeat(500)), newNote('x'.repeat(100), 'png')]);
  t.equal(await counted(), 0, 'without a limit nobody waits for anybody else to count');
  const limited = await opened(t, url, { maxBytes: 1_000 });
  t.equal(await counted(), 600);
  await t.rejects(post(limited, name, newNote('x'.repeat(401))), { code: 'byte_limit' });
  await post(limited, feedName('other'), newNote('x'.repeat(400)));
  await edits(limited).deleteFeed(name);
  t.equal(await counted(), 400);
});

t.test('what an operator closes is closed for all that use the database', async (t) => {
  const url = await server.database();
  const [here, there] = (await Promise.all([opened(t, url), opened(t, url)])) as [Storage, Storage];
  const [told, toldElsewhere] = [heard(here), heard(there)];
  const { readId } = await post(here, name, newNote('x'));
  t.ok(await eventually(() => toldElsewhere.length === 1));
  for (const one of [told, toldElsewhere]) one.length = 0;
  for (const isBlocked of [true, false]) {
    if (isBlocked) await here.records.add({ kind: 'name', key: name, value: '', at: 1 });
    else await here.records.remove('name', name);
    t.same(told.splice(0), [{ readIds: [readId] }]);
    t.ok(await eventually(() => toldElsewhere.length === 1));
    t.same(toldElsewhere.splice(0), [{ readIds: [readId], isForeign: true }]);
    t.match(await there.feed(name), { isBlocked });
    if (isBlocked) await t.rejects(post(there, name, newNote('more')), { code: 'blocked' });
  }
  t.match(await post(there, name, newNote('more')), { noteCount: 2 });
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
  const from = Date.now();
  const works = Array.from({ length: 8 }, (_, i) => {
    const { describe, configure } = edits(storages[i % 2]!);
    return [
      describe(name, note.id, i % 4 < 2 ? { title: 'T' } : { tags: ['t'] }),
      configure(name, i % 4 < 2 ? { title: 'T' } : { description: 'D' }),
      post(storages[(i + 1) % 2]!, name, newNote(`${i}`)),
    ];
  });
  await Promise.all(works.flat());
  const { edited, ...meta } = (await reads(storages[1]!).note(name, note.id))!.meta;
  t.same(meta, { title: 'T', tags: ['t'] });
  t.ok(edited! >= from && edited! <= Date.now(), 'edited just now');
  t.match(await storages[0]!.feed(name), { title: 'T', description: 'D', noteCount: 9 });
  t.equal(idsOf(await reads(storages[1]!).page(name, { limit: 100 })).length, 9);
});

t.test(
  'root makes the folder of pictures where the user that it becomes may not, and gives it away',
  { skip: process.getuid?.() === 0 ? false : 'only root can give folders away' },
  async (t) => {
    const env = { ...SETTINGS, SERVICE_IMAGES: 'fs', SERVICE_DATABASE_URL: await server.database() };
    const service = await ServiceProcess.start(t, { dir: await dataDir(t), env });
    const pictures = statSync(join(service.dir, 'images'));
    t.match(pictures, { uid: 1000, gid: 1000 });
    t.equal(pictures.mode & 0o777, 0o700);
  },
);
