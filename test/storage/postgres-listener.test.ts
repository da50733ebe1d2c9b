/** Hearing of changes, through what happens to a connection and to a server. */
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ChangeListener } from '../../src/storage/postgres/change-listener.ts';
import { PostgresServer } from '../support/postgres.ts';

const server = await PostgresServer.start(t);

const LISTENERS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'note-feed-listener'`;

/** A listener, and what it was told in order. */
async function listening(t: Test, database?: string) {
  const told: (string | boolean)[] = [];
  const times: number[] = [];
  const tell = (what: string | boolean) => {
    told.push(what);
    times.push(performance.now());
  };
  const url = database ?? (await server.database());
  const ignore = () => {};
  const listener = await ChangeListener.start({
    connection: { connectionString: url },
    channel: 'changes',
    onNotice: tell,
    onFreshness: tell,
    log: { warn: ignore },
  });
  t.teardown(() => listener.close());
  return {
    url,
    told,
    listener,
    notify: (payload: string) => server.sql(url, `SELECT pg_notify('changes', $1)`, [payload]),
    /** When it was told so for the last time, ms. */
    toldAt: (what: string | boolean) => times[told.lastIndexOf(what)]!,
    backend: async () => {
      const [row] = await server.sql(url, LISTENERS);
      return Number(row?.pid);
    },
    async until(...expected: (string | boolean)[]) {
      while (told.length < expected.length) await wait(5);
      t.strictSame(told, expected);
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

t.test('listeners know how many there are, or were within the last minute', async (t) => {
  const { listener, url } = await listening(t);
  t.equal(listener.listeners, 1);
  const other = await listening(t, url);
  t.equal(other.listener.listeners, 2);
  while (listener.listeners < 2) await wait(10);
  await other.listener.close();
  const isGone = async () => (await server.sql(url, LISTENERS)).length === 1;
  while (!(await isGone())) await wait(10);
  // Longer than the pause between two counts.
  await wait(400);
  t.equal(listener.listeners, 2);
});

t.test('a connection that is cut is replaced, and what was missed meanwhile is said to be', async (t) => {
  const { notify, until, backend } = await listening(t);
  process.kill(await backend(), 'SIGTERM');
  await until(true, false, true);
  await notify('heard');
  await until(true, false, true, 'heard');
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
      channel: 'changes',
      onNotice: ignore,
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
