/** The days that an instance keeps notes, and who removes them, where notes are in a database. */
import t, { type Test } from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { toFeed } from '../../src/writing/command.ts';
import { eventually } from '../support/eventually.ts';
import { connected, PostgresServer } from '../support/postgres.ts';
import { post } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { dataFolder } from './files-support.ts';
import { opened as openedPostgres } from './postgres-support.ts';
import { opened as openedSqlite } from './sqlite-support.ts';

t.setTimeout(600_000);

const DAY_MS = 24 * 60 * 60_000;
const name = feedName('feed');
const server = await PostgresServer.start(t);

const aged = (days: number) => ({
  ...newNote('old'),
  id: new NoteIds(() => Date.now() - days * DAY_MS).next(),
});

/** Sweeps what is due; returns how many notes are left. */
async function swept(storage: Storage): Promise<number> {
  for (const due of await storage.due(Date.now()))
    await storage.write({ kind: 'sweep', ...toFeed((await storage.feed(due))!) });
  return (await storage.feed(name))!.noteCount;
}

/** As after the time for which a process that is gone has led. */
const nobodyLeads = (url: string) => server.sql(url, 'UPDATE sweeper SET until = 0');

const BACKENDS: Record<string, (t: Test) => Promise<(keepDays: number) => Promise<Storage>>> = {
  sqlite: async (t) => {
    const dir = await dataFolder(t);
    return (keepDays) => openedSqlite(t, dir, { keepDays });
  },
  postgres: async (t) => {
    const url = await server.database();
    return async (keepDays) => {
      const storage = await openedPostgres(t, url, { keepDays });
      await nobodyLeads(url);
      return storage;
    };
  },
};

for (const [backend, place] of Object.entries(BACKENDS))
  t.test(
    `${backend}: a start with other days makes due what they say, and a post later on too`,
    async (t) => {
      const open = await place(t);
      const first = await open(0);
      for (const days of [20, 5, 1]) await post(first, name, aged(days));
      t.same(await first.due(Date.now()), []);
      await first.close();
      const second = await open(10);
      t.equal(await swept(second), 2);
      t.same(await second.due(Date.now() + 4 * DAY_MS), []);
      t.same(await second.due(Date.now() + 5 * DAY_MS), [name]);
      await second.close();
      const third = await open(3);
      t.equal(await swept(third), 1);
      await post(third, name, aged(4));
      t.equal(await swept(third), 1, 'what comes later is due by itself');
      t.same(await third.due(Date.now()), []);
    },
  );

t.test('one of two processes sweeps, and the other one when that is gone', async (t) => {
  const url = await server.database();
  const [one, other] = [await openedPostgres(t, url), await openedPostgres(t, url)];
  await post(one, name, newNote('x', 'md', { tags: [], expires: 1 }));
  const now = Date.now();
  t.same([await one.due(now), await other.due(now), await one.due(now)], [[name], [], [name]]);
  await nobodyLeads(url);
  t.same(await other.due(now), [name]);
});

t.test('a process that was started with other days goes by those of the last start', async (t) => {
  const url = await server.database();
  const first = await openedPostgres(t, url);
  for (const days of [20, 1]) await post(first, name, aged(days));
  const last = await openedPostgres(t, url, { keepDays: 10 });
  t.equal(await swept(first), 1);
  t.same(await first.due(Date.now() + 9 * DAY_MS), [name]);
  const made = feedName('made-since');
  await post(first, made, aged(5));
  await first.close();
  await nobodyLeads(url);
  t.same(await last.due(Date.now() + 5 * DAY_MS), [made]);
});

t.test('a feed that is being made while a process starts with other days is due by these', async (t) => {
  const url = await server.database();
  const first = await openedPostgres(t, url);
  await server.sql(
    url,
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END'`,
  );
  await server.sql(url, 'CREATE TRIGGER waiting BEFORE INSERT ON feeds FOR EACH ROW EXECUTE FUNCTION wait()');
  const gate = await connected(t, url);
  await gate.query('SELECT pg_advisory_lock(1)');
  const waitsFor = async (lock: string) =>
    (await gate.query(`SELECT FROM pg_locks WHERE NOT granted AND ${lock}`)).rows.length > 0;

  const posted = post(first, name, aged(20));
  t.ok(
    await eventually(() => waitsFor(`locktype = 'advisory' AND objid = 1`)),
    'it has read the former days',
  );
  let isOpen = false;
  const opening = openedPostgres(t, url, { keepDays: 10 }).finally(() => {
    isOpen = true;
  });
  t.ok(await eventually(async () => isOpen || (await waitsFor(`relation = 'feeds'::regclass`))));
  await gate.query('SELECT pg_advisory_unlock(1)');
  await posted;
  await opening;
  t.equal(await swept(first), 0);
});
