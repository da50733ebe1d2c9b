import { once } from 'node:events';
import { chown } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { APPLICATION_NAME } from '../../src/storage/postgres/connection-options.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, post as postTo, start } from '../support/service.ts';
import { CANNOT_MOUNT, smallDisk } from '../support/small-disk.ts';
import { edits, NEW, NO_LIMITS, OPEN, post, reads, writes } from '../support/storing.ts';
import { feedName, idsOf, newNote, textOf } from './contract.ts';
import { tally } from './contract-support.ts';
import { opened } from './postgres-support.ts';

t.setTimeout(600_000);

const MIB = 1024 * 1024;
const NOBODY = 65_534;
const name = feedName('feed');
const server = await PostgresServer.start(t);

/** The service on a database of its own. */
async function service(t: Test) {
  return start(t, {
    SERVICE_STORAGE: 'postgres',
    SERVICE_SECRET: 'a secret of tests that is long enough',
    SERVICE_DATABASE_URL: await server.database(),
  });
}

t.test(
  'a server that crashes in the middle of posts loses nothing, and all is well when it is back',
  async (t) => {
    const { url, lines } = await service(t);
    await postTo(`${url}/feed`, 'first');
    const acknowledged: string[] = [];
    const refusals = new Map<number, string>();
    let isOver = false;
    const client = async () => {
      for (let i = 0; !isOver; i += 1) {
        const { status, json } = await postTo(`${url}/feed-${i % 3}`, `note ${i}`);
        if (status === 201) acknowledged.push(json.url);
        else {
          refusals.set(status, json.code);
          // Clients that ask as fast as they can would leave the server no time to come back.
          await delay(20);
        }
      }
    };
    const clients = Promise.all(Array.from({ length: 8 }, client));
    const more = (count: number) => eventually(() => acknowledged.length >= count);
    for (let round = 0; round < 2; round += 1) {
      t.ok(await more(acknowledged.length + 50));
      await server.stop('SIGQUIT');
      t.equal((await ask(`${url}/health/ready`)).status, 503);
      t.equal((await ask(`${url}/api/v1/feeds/feed`)).status, 503);
      t.equal((await ask(`${url}/health`)).status, 200);
      await server.start();
      t.ok(await eventually(async () => (await ask(`${url}/health/ready`)).status === 200));
    }
    t.ok(await more(acknowledged.length + 50));
    isOver = true;
    await clients;
    t.same([...refusals], [[503, 'store_unavailable']]);
    const lost = [];
    for (const note of acknowledged) {
      const [, feed, id] = new URL(note).pathname.split('/');
      const { status } = await ask(`${url}/api/v1/feeds/${feed}/notes/${id}`);
      if (status !== 200) lost.push(note);
    }
    t.same(lost, []);
    const logged = JSON.stringify(lines.map(({ message, fields }) => [message, String(fields.err), fields]));
    // Hashes and ids may hold the digits of the port.
    t.notMatch(
      logged,
      new RegExp(`127\\.0\\.0\\.1:|\\b${server.port}\\b`),
      'the log says nothing of the address',
    );
  },
);

t.test('a connection that hangs fails in time, and is used no more', async (t) => {
  const storage = await opened(t, await server.database());
  await post(storage, name, newNote('first'));
  const stopped = await server.backends(APPLICATION_NAME);
  for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  const goOn = () => {
    for (const pid of stopped.splice(0)) process.kill(pid, 'SIGCONT');
  };
  t.teardown(goOn);
  // Who waited for a stopped connection would wait until the test ends.
  const all = await Promise.allSettled([
    writes(storage).post(name, [newNote('lost')], OPEN, NO_LIMITS),
    storage.feed(name),
    reads(storage).page(name, { limit: 9 }),
  ]);
  t.ok((tally(all).store_unavailable ?? 0) >= 2, 'those that met a stopped connection');
  goOn();
  t.ok(
    await eventually(() =>
      storage.check().then(
        () => true,
        () => false,
      ),
    ),
  );
  const later = newNote('later');
  await post(storage, name, later);
  t.equal(textOf(await reads(storage).note(name, later.id)), 'later');
  t.equal(
    (await reads(storage).page(name, { limit: 9 })).notes.length,
    2,
    'nothing was stored that was refused',
  );
});

/** The way to a database through a proxy that can hold back what the server answers to COMMIT, and all behind it. */
async function heldCommits(t: Test, url: string): Promise<{ url: string; hold(): void; letGo(): void }> {
  let isHolding = false;
  const letGo: (() => void)[] = [];
  const proxy = createServer((client) => {
    const database = connect(Number(new URL(url).port), '127.0.0.1');
    client.on('data', (sent) => {
      if (isHolding && sent.includes('COMMIT\0')) {
        database.unpipe(client);
        letGo.push(() => database.pipe(client));
      }
    });
    client.pipe(database).pipe(client);
    for (const socket of [client, database]) socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => proxy.close());
  const through = new URL(url);
  through.port = String((proxy.address() as AddressInfo).port);
  return {
    url: through.href,
    hold: () => {
      isHolding = true;
    },
    letGo: () => {
      isHolding = false;
      for (const go of letGo.splice(0)) go();
    },
  };
}

t.test(
  'a change is told when it shows, also where the answer to its commit is late, and told once',
  async (t) => {
    const url = await server.database();
    const { url: through, hold, letGo } = await heldCommits(t, url);
    const other = await opened(t, url);
    const feed = await post(other, name, newNote('first'));
    const storage = await opened(t, through);
    let told = 0;
    storage.onChange(({ readIds }) => {
      if (readIds.includes(feed.readId)) told += 1;
    });
    hold();
    let isOver = false;
    const posting = post(storage, name, newNote('second')).finally(() => {
      isOver = true;
    });
    t.ok(await eventually(() => told === 1));
    t.notOk(isOver);
    letGo();
    await posting;
    t.equal(told, 1);
    await post(storage, name, newNote('third'));
    t.equal(told, 2);
    // Notices come in the order of the commits.
    await post(other, name, newNote('fourth'));
    t.ok(await eventually(() => told >= 3));
    t.equal(told, 3);
  },
);

t.test('a write that cannot be made fails alone', async (t) => {
  const storage = await opened(t, await server.database());
  const first = newNote('first');
  await post(storage, name, first);
  const notes = Array.from({ length: 20 }, (_, i) => (i % 5 === 0 ? first : newNote(`${i}`)));
  const all = await Promise.allSettled(
    notes.map((note) => writes(storage).post(name, [newNote('x', 'png'), note], OPEN, NO_LIMITS)),
  );
  t.same(
    all.map(({ status }) => status),
    notes.map((note) => (note === first ? 'rejected' : 'fulfilled')),
  );
  t.match(await storage.feed(name), { noteCount: 1 + 16 * 2, imageCount: 16 });
});

t.test(
  'a full disk refuses with storage_full, keeps nothing half, and is well again',
  { skip: CANNOT_MOUNT },
  async (t) => {
    const dir = await smallDisk(t, '12m');
    await chown(dir, NOBODY, NOBODY);
    await server.sql('postgres', `CREATE TABLESPACE small LOCATION '${dir}'`);
    await server.sql('postgres', 'CREATE DATABASE small TABLESPACE small');
    const storage = await opened(t, server.url('small'));
    const kept = newNote('kept');
    await post(storage, name, kept);
    const large = newNote(Buffer.alloc(16 * MIB), 'png');
    await t.rejects(writes(storage).post(name, [large], OPEN, NO_LIMITS), {
      code: 'storage_full',
      status: 507,
      cause: Error,
    });
    await t.rejects(writes(storage).post(feedName('new'), [large], NEW, NO_LIMITS), { code: 'storage_full' });
    t.equal(await storage.feed(feedName('new')), undefined);
    const both = [
      writes(storage).post(name, [newNote('small')], OPEN, NO_LIMITS),
      writes(storage).post(name, [large], OPEN, NO_LIMITS),
    ];
    t.same(
      tally(await Promise.allSettled(both)),
      { object: 1, storage_full: 1 },
      'the small one has its place',
    );
    t.match(await storage.feed(name), { noteCount: 2, imageCount: 0 });
    t.equal(textOf(await reads(storage).note(name, kept.id)), 'kept');
  },
);

t.test('a database that can only be read refuses writes until it takes them again', async (t) => {
  const url = await server.database();
  const storage = await opened(t, url);
  const note = newNote('kept');
  await post(storage, name, note);
  const database = new URL(url).pathname.slice(1);
  const setReadOnly = async (value: string) => {
    await server.sql('postgres', `ALTER DATABASE ${database} SET default_transaction_read_only = ${value}`);
    // Waits for their ends: a connection that is about to end would fail what comes next.
    const end = 'SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1';
    await server.sql('postgres', end, [database]);
  };
  await setReadOnly('on');
  await t.rejects(post(storage, name, newNote('lost')), { code: 'store_unavailable' });
  await t.rejects(storage.check(), { code: 'store_unavailable' });
  t.equal(textOf(await reads(storage).note(name, note.id)), 'kept', 'reads go on');
  await setReadOnly('off');
  t.ok(
    await eventually(() =>
      storage.check().then(
        () => true,
        () => false,
      ),
    ),
  );
  await post(storage, name, newNote('well again'));
});

t.test(
  'a deleted feed is gone at once, and what it has left is cleared away, also after a stop in the middle',
  async (t) => {
    const url = await server.database();
    const storage = await opened(t, url);
    for (let i = 0; i < 3; i += 1)
      await post(
        storage,
        name,
        Array.from({ length: 1_000 }, (_, n) => newNote(`${n}`, 'md', { tags: ['a', 'b'] })),
      );
    const kept = newNote('kept', 'md', { tags: ['a'] });
    await post(storage, feedName('other'), kept);
    await edits(storage).deleteFeed(name);
    // At once, because what is cleared away meanwhile depends on how busy the machine is.
    await storage.close();
    const count = `SELECT (SELECT count(*)::int FROM notes) AS notes, (SELECT count(*)::int FROM tags) AS tags`;
    const [left] = await server.sql(url, count);
    t.ok((left?.notes as number) > 1, 'it was stopped in the middle');
    const again = await opened(t, url);
    t.equal(await again.feed(name), undefined);
    const isCleared = async () => JSON.stringify(await server.sql(url, count)) === '[{"notes":1,"tags":1}]';
    t.ok(await eventually(isCleared));
    t.same(idsOf(await reads(again).page(feedName('other'), { limit: 9, tag: 'a' })), [kept.id]);
  },
);
