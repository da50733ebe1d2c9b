/** Counting what clients do, over several containers that share a database. */
import t from 'tap';
import type { RateLimit } from '../../src/access/rate-limit.ts';
import { ClientCounts } from '../../src/storage/postgres/client-counts.ts';
import { Database } from '../../src/storage/postgres/database.ts';
import { migrate } from '../../src/storage/postgres/schema.ts';
import { PostgresServer } from '../support/postgres.ts';
import { limitOf, waitNow, waitOf } from '../support/rate-limits.ts';

const LIMIT = 60;
const MINUTE = 60_000;
const server = await PostgresServer.start(t);
const url = await server.database();
await migrate(url);

/** Counts as so many containers have them, each with connections of its own. */
function containers(number: number, perMinute = LIMIT) {
  return Array.from({ length: number }, () => {
    const database = new Database(url);
    t.teardown(() => database.close());
    const secret = Buffer.alloc(32, 'k');
    return new ClientCounts({ database, secret, perMinute, containers: () => number });
  });
}

let newcomers = 0;
const newcomer = () => `client ${++newcomers}`;

/** Makes all that was counted of everybody older. */
async function pass(ms: number): Promise<void> {
  const times = '(SELECT array_agg(time - $1 ORDER BY time) FROM unnest(times) AS time)';
  await server.sql(url, `UPDATE client_counts SET times = ${times}`, [ms]);
}

t.test('what is wanted is granted up to the limit, what was done counts in any case', async (t) => {
  const [counts] = containers(1, 5) as [ClientCounts];
  const client = newcomer();
  t.match(await counts.count(client, { done: 3, wanted: 1 }), { total: 4, isGranted: true });
  t.match(await counts.count(client, { done: 0, wanted: 1 }), { total: 5, isGranted: true });
  const refused = await counts.count(client, { done: 0, wanted: 1 });
  t.match(refused, { total: 5, isGranted: false });
  t.ok(refused.waitMs > MINUTE - 5_000 && refused.waitMs <= MINUTE, `${refused.waitMs} ms`);
  t.match(await counts.count(client, { done: 4, wanted: 1 }), { total: 9, isGranted: false });
  t.match(await counts.count(client, { done: 0, wanted: 0 }), { total: 9, isGranted: false });
  const other = newcomer();
  t.match(await counts.count(other, { done: 0, wanted: 0 }), { total: 0, isGranted: false });
  t.match(await counts.count(other, { done: 7, wanted: 1 }), { total: 7, isGranted: false });
});

t.test('what is older than a minute is forgotten, the oldest first', async (t) => {
  const [counts] = containers(1, 5) as [ClientCounts];
  const client = newcomer();
  await counts.count(client, { done: 2, wanted: 0 });
  await pass(40_000);
  await counts.count(client, { done: 3, wanted: 0 });
  const { total, waitMs } = await counts.count(client, { done: 0, wanted: 1 });
  t.equal(total, 5);
  t.ok(waitMs > 15_000 && waitMs <= 20_000, `${waitMs} ms`);
  await pass(20_000);
  t.match(await counts.count(client, { done: 0, wanted: 1 }), { total: 4, isGranted: true });
  await pass(MINUTE);
  t.match(await counts.count(client, { done: 0, wanted: 0 }), { total: 0 });
});

t.test('a clock that was set, forwards or back, locks nobody out', async (t) => {
  const [counts] = containers(1, 5) as [ClientCounts];
  for (const hour of [-3_600_000, 3_600_000]) {
    const client = newcomer();
    await counts.count(client, { done: 5, wanted: 0 });
    await pass(hour);
    t.match(await counts.count(client, { done: 0, wanted: 1 }), { total: 1, isGranted: true });
  }
});

t.test('three containers at once grant no more than the limit, and no less', async (t) => {
  const all = containers(3);
  for (const client of [newcomer(), newcomer()]) {
    const asked = Array.from({ length: 150 }, (_, i) => all[i % 3]!.count(client, { done: 0, wanted: 1 }));
    const granted = (await Promise.all(asked)).filter(({ isGranted }) => isGranted);
    t.equal(granted.length, LIMIT);
  }
});

t.test('many clients of many containers wait for each other nowhere', async (t) => {
  const all = containers(3);
  const clients = Array.from({ length: 50 }, newcomer);
  const rounds = Array.from({ length: 20 }, (_, round) =>
    clients.map((client, i) => all[(round + i) % 3]!.count(client, { done: 1, wanted: 1 })),
  );
  await Promise.all(rounds.flat());
  const answers = await Promise.all(clients.map((client) => all[0]!.count(client, { done: 0, wanted: 0 })));
  t.same(new Set(answers.map(({ total }) => total)), new Set([40]));
});

t.test('rows hold no address', async (t) => {
  const [counts] = containers(1) as [ClientCounts];
  await counts.count('192.0.2.77', { done: 1, wanted: 0 });
  const rows = await server.sql(url, 'SELECT client FROM client_counts');
  t.ok(rows.length > 0);
  for (const { client } of rows) t.match(client as string, /^[\w-]{43}$/);
});

for (const limit of [3, 20, 60]) {
  t.test(
    `three containers hold a limit of ${limit} to a tenth, one after the other and at once`,
    async (t) => {
      const limits = containers(3, limit).map((counts) => limitOf({ perWindow: limit, shared: counts }));
      const most = limit + Math.floor(limit / 10);
      const [slow, fast] = [newcomer(), newcomer()];
      let allowed = 0;
      for (let i = 0; i < 2 * limit + 10; i += 1)
        if ((await waitOf(() => limits[i % 3]!.count(slow))) === undefined) allowed += 1;
      t.ok(allowed >= limit - Math.floor(limit / 10) && allowed <= most, `${allowed} one after the other`);
      const replies = await Promise.all(
        Array.from({ length: 6 * limit }, (_, i) => waitOf(() => limits[i % 3]!.count(fast))),
      );
      const atOnce = replies.filter((seconds) => seconds === undefined).length;
      t.ok(atOnce >= limit - Math.floor(limit / 10) && atOnce <= most, `${atOnce} at once`);
      for (const one of limits)
        for (const client of [slow, fast]) {
          const seconds = await waitOf(() => one.count(client));
          t.ok(seconds !== undefined && seconds >= 1 && seconds <= 60, `${seconds} s`);
        }
    },
  );
}

t.test('a container alone asks nobody', async (t) => {
  const [counts] = containers(1) as [ClientCounts];
  const limit = limitOf({ perWindow: 3, shared: counts });
  const client = newcomer();
  t.same(
    [1, 2, 3, 4].map(() => waitNow(() => limit.count(client))),
    [undefined, undefined, undefined, 60],
  );
  t.equal(
    waitNow(() => limit.check(client)),
    60,
  );
  const off = limitOf({ perWindow: 0, shared: counts });
  t.same([waitNow(() => off.count(client)), waitNow(() => off.check(client))], [undefined, undefined]);
});

t.test('a client that does little is told to nobody, and one that looks is not kept', async (t) => {
  const [counts] = containers(3) as [ClientCounts];
  const limit = limitOf({ perWindow: LIMIT, shared: counts });
  const client = newcomer();
  t.same(
    [1, 2, 3].map(() => waitNow(() => limit.count(client))),
    [undefined, undefined, undefined],
  );
  t.equal(
    waitNow(() => limit.check(newcomer())),
    undefined,
  );
  t.equal(await waitOf(() => limit.count(client)), undefined, 'the fourth is told');
  t.equal((await counts.count(`changes ${client}`, { done: 0, wanted: 0 })).total, 4);
});

t.test(
  'who is over the limit in one container is known in another before a right password counts',
  async (t) => {
    const [first, second] = containers(2, 10).map((counts) => limitOf({ perWindow: 10, shared: counts })) as [
      RateLimit,
      RateLimit,
    ];
    const client = newcomer();
    for (let i = 0; i < 12; i += 1) await waitOf(() => first.count(client));
    await waitOf(() => second.count(client));
    t.ok((await waitOf(() => second.check(client))) !== undefined);
  },
);

t.test('without the database each container holds the limit by itself', async (t) => {
  const database = new Database('postgres://nobody@127.0.0.1:1/none');
  t.teardown(() => database.close());
  const counts = new ClientCounts({ database, secret: Buffer.alloc(32), perMinute: 10, containers: () => 3 });
  const limit = limitOf({ perWindow: 10, shared: counts });
  const replies: (number | undefined)[] = [];
  for (let i = 0; i < 12; i += 1) replies.push(await waitOf(() => limit.count('a')));
  t.equal(replies.filter((seconds) => seconds === undefined).length, 10);
});
