/** A container whose clock is an hour ahead, on one PostgreSQL with another one: it says so, and removes nothing before its time. */
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { startContainers } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PostgresServer } from '../support/postgres.ts';
import { dataDir, type ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const HOUR = 3_600_000;
const APART =
  'the clocks of this machine and of the database differ: notes get wrong dates, and expire at wrong times';

const server = await PostgresServer.start(t);
/** Where the service, which gives up being root, can read it. */
const clock = `${await dataDir(t)}.clock`;
const setClock = (aheadMs: number) => writeFileSync(clock, `${aheadMs}`);
const AHEAD = {
  env: { CLOCK_FILE: clock },
  flags: ['--import', new URL('../support/set-clock.mjs', import.meta.url).href],
};
const inMs = (ms: number) => ({ 'x-note-expires': new Date(Date.now() + ms).toISOString() });

t.test('a sweep removes only what has expired by the clock of the database, too', async (t) => {
  const database = await server.database();
  const [one] = (await startContainers(t, database, [{}])) as [ServiceProcess];
  const feed = new FeedClient(one.url, 'pipit');
  const { id } = (await feed.post('later', inMs(HOUR / 2))).json;
  t.equal((await feed.post('soon', inMs(2_000))).status, 201);
  await one.kill('SIGTERM');

  setClock(HOUR);
  const [ahead] = (await startContainers(t, database, [AHEAD])) as [ServiceProcess];
  const left = async () => (await server.sql(database, 'SELECT id FROM notes')).map((row) => row.id);
  t.ok(await eventually(async () => (await left()).length < 2), 'it has swept the feed');
  t.same(await left(), [id], 'the note that expires in half an hour is still there');
  setClock(0);
  t.match((await new FeedClient(ahead.url, 'pipit').list()).json.notes, [{ content: 'later' }]);
});

t.test('a container says once that its clock and that of the database differ', async (t) => {
  setClock(0);
  const [ahead, right] = (await startContainers(t, await server.database(), [AHEAD, {}])) as [
    ServiceProcess,
    ServiceProcess,
  ];
  setClock(HOUR);
  await ahead.says(APART);
  const [line] = ahead.lines.filter(({ msg }) => msg === APART);
  t.match(line, { level: 'warn' });
  t.ok(Math.abs(Number(line!.ahead_ms) - HOUR) < HOUR / 60);
  t.notOk(right.lines.some(({ msg }) => msg === APART));
  setClock(0);
  await new FeedClient(ahead.url, 'dotterel').post();
  t.equal(ahead.lines.filter(({ msg }) => msg === APART).length, 1);
});
