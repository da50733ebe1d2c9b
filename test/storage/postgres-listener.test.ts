/** Hearing of changes, through what happens to a connection and to a server. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ChangeListener } from '../../src/storage/postgres/change-listener.ts';
import { CHANGE_CHANNEL, decodeChanges } from '../../src/storage/postgres/change-notice.ts';
import { removeChanges } from '../../src/storage/postgres/changes-table.ts';
import { connect, connectionOptions } from '../../src/storage/postgres/connection-options.ts';
import { Database } from '../../src/storage/postgres/database.ts';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { migrate } from '../../src/storage/postgres/schema.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';

const server = await PostgresServer.start(t);

const LISTENERS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'note-feed-listener'`;

/** A listener, and what it was told in order. */
async function listening(
  t: Test,
  { database, isListening = true }: { database?: string; isListening?: boolean } = {},
) {
  const told: (string | boolean)[] = [];
  const warned: string[] = [];
  const times: number[] = [];
  const untils: (number | undefined)[] = [];
  const tell = (what: string | boolean) => {
    told.push(what);
    times.push(performance.now());
  };
  const url = database ?? (await server.database());
  await migrate(url);
  const ignore = () => {};
  const name = randomUUID();
  const listener = await ChangeListener.start({
    connection: connectionOptions(url),
    name,
    isListening,
    onChange: (payload) => {
      decodeChanges(payload);
      tell(payload);
    },
    onOld: ignore,
    onFreshness: (isFresh, heardUntil) => {
      tell(isFresh);
      untils.push(heardUntil);
    },
    log: { warn: (message) => warned.push(message) },
  });
  t.teardown(() => listener.close());
  return {
    url,
    told,
    warned,
    untils,
    listener,
    name,
    notify: (payload: string) => server.sql(url, `SELECT pg_notify('${CHANGE_CHANNEL}', $1)`, [payload]),
    record: (payload: string) => server.sql(url, 'INSERT INTO feed_changes (payload) VALUES ($1)', [payload]),
    /** When it was told so for the last time, ms. */
    toldAt: (what: string | boolean) => times[told.lastIndexOf(what)]!,
    backend: async () => {
      const [row] = await server.sql(url, LISTENERS);
      return Number(row?.pid);
    },
    /** Waits for what it is told first; on a busy machine more may have come by then. */
    async until(...expected: (string | boolean)[]) {
      while (told.length < expected.length) await wait(5);
      t.strictSame(told.slice(0, expected.length), expected);
    },
  };
}

/** When a second is over, as a timer sees it: behind all timers that are due before, however late they all are. */
const aSecondFromNow = () => wait(1_000).then(() => performance.now());

t.test('notices are heard in order', async (t) => {
  const { notify, until } = await listening(t);
  await notify('first');
  await notify('second');
  await until(true, 'first', 'second');
});

t.test('processes know how many there are, or were within the last minute', async (t) => {
  const { listener, url } = await listening(t);
  t.equal(listener.processes, 1);
  const other = await listening(t, { database: url });
  t.equal(other.listener.processes, 2);
  await eventually(() => listener.processes === 2);
  await other.listener.close();
  const rows = await server.sql(
    url,
    'SELECT until - extract(epoch FROM now()) * 1000 AS ms FROM service_processes',
  );
  t.same(
    rows.map(({ ms }) => Number(ms) > 50_000 && Number(ms) <= 60_000),
    [true, true],
  );
  await server.sql(url, 'UPDATE service_processes SET until = until - 60000 WHERE name = $1', [other.name]);
  t.ok(await eventually(() => listener.processes === 1));
});

for (const isListening of [true, false])
  t.test(
    `what was recorded is found by asking ${isListening ? 'if its notice is lost' : 'alone'}`,
    async (t) => {
      const { record, notify, until, url } = await listening(t, { isListening });
      await until(true);
      await record('one');
      await until(true, 'one');
      // Begun before others that are seen first.
      const client = await connect(url);
      await client.query('BEGIN');
      await client.query("INSERT INTO feed_changes (payload) VALUES ('three')");
      await record('two');
      await until(true, 'one', 'two');
      await client.query('COMMIT');
      await client.end();
      await until(true, 'one', 'two', 'three');
      await record('four');
      if (isListening) await notify('four');
      await record('five');
      await until(true, 'one', 'two', 'three', 'four', 'five');
    },
  );

t.test(
  'what another program notifies or records, and nobody can read, ends no process: any feed may have changed',
  async (t) => {
    const { notify, record, until, warned } = await listening(t);
    const unreadable = /cannot be read/;
    await until(true);
    await notify('x 1:a:%');
    await until(true, false, true);
    await record('y 1:a:%');
    await until(true, false, true, false, true);
    await notify('readable');
    await until(true, false, true, false, true, 'readable');
    t.equal(warned.filter((line) => unreadable.test(line)).length, 1, 'it is told once');
  },
);

t.test('what a snapshot saw is removed, and nothing else', async (t) => {
  const { url, record } = await listening(t);
  const client = await connect(url);
  await client.query('BEGIN');
  await client.query("INSERT INTO feed_changes (payload) VALUES ('open')");
  await record('seen');
  const [row] = await server.sql(url, 'SELECT pg_current_snapshot()::text AS snapshot');
  await client.query('COMMIT');
  await client.end();
  await record('later');
  const database = new Database(url);
  await removeChanges(database, String(row!.snapshot));
  await database.close();
  t.same(await server.sql(url, 'SELECT payload FROM feed_changes ORDER BY tx'), [
    { payload: 'open' },
    { payload: 'later' },
  ]);
});

t.test('a connection that is cut is replaced, and what was missed meanwhile is said to be', async (t) => {
  const { notify, until, backend, untils, toldAt } = await listening(t);
  process.kill(await backend(), 'SIGTERM');
  await until(true, false, true);
  t.ok(untils[1]! < toldAt(false), 'all was heard until a round trip before');
  await notify('heard');
  await until(true, false, true, 'heard');
});

t.test('other files of the tables, as after a restore, say that anything may have changed', async (t) => {
  const { until, url } = await listening(t);
  await until(true);
  await server.sql(url, 'TRUNCATE feeds, notes');
  await until(true, false, true);
});

t.test('a server that hangs is not trusted for a second, nor are its notices lost', async (t) => {
  const { told, notify, until, backend, toldAt } = await listening(t);
  const pid = await backend();
  process.kill(pid, 'SIGSTOP');
  const second = aSecondFromNow();
  await until(true, false);
  t.ok(toldAt(false) < (await second));
  await until(true, false, true);
  await notify('heard');
  await until(true, false, true, 'heard');
  process.kill(pid, 'SIGCONT');
  await notify('again');
  await until(true, false, true, 'heard', 'again');
  t.equal(told.length, 5);
});

t.test('an event loop that is held up hears that it was', async (t) => {
  const { until } = await listening(t);
  const end = performance.now() + 1_000;
  while (performance.now() < end);
  await until(true, false, true);
});

t.test('who listens to a storage that hears nothing is told so at once', async (t) => {
  const url = await server.database();
  const log = { warn: () => {} };
  const storage = await openPostgres({ url, maxFeeds: 0, maxBytes: 0, keepDays: 0, log });
  t.teardown(() => storage.close());
  const late = new Promise<boolean>((resolve) => {
    storage.onFreshness((isFresh) => {
      if (!isFresh) queueMicrotask(() => storage.onFreshness(resolve));
    });
  });
  const [row] = await server.sql(url, LISTENERS);
  process.kill(Number(row!.pid), 'SIGTERM');
  t.equal(await late, false);
});

t.test('without a server nothing is heard, and with the next one everything', async (t) => {
  const { until, notify, listener, toldAt } = await listening(t);
  await server.stop('SIGQUIT');
  const second = aSecondFromNow();
  await until(true, false);
  t.ok(toldAt(false) < (await second));
  t.equal(listener.isFresh, false);
  await server.start();
  await until(true, false, true);
  await notify('heard');
  await until(true, false, true, 'heard');
});

t.test('a server that cannot be reached lets nobody start', async (t) => {
  const connection = { connectionString: 'postgres://nobody:secret@127.0.0.1:1/none' };
  const ignore = () => {};
  await t.rejects(
    ChangeListener.start({
      connection,
      name: 'one',
      isListening: true,
      onChange: ignore,
      onOld: ignore,
      onFreshness: ignore,
      log: { warn: ignore },
    }),
    { code: 'ECONNREFUSED' },
  );
});

t.test('a closed listener leaves no connection', async (t) => {
  const { listener, backend } = await listening(t);
  await listener.close();
  while (await backend()) await wait(10);
  t.equal(await listener.close(), undefined);
});
