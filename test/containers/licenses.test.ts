/** A hosted instance of three containers on one PostgreSQL: a license serves as many feeds as it says, and ends in all. */
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { startContainers } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { HOSTED, licenseFor } from '../support/licenses.ts';
import { FORM_TYPE, field, file, formBody } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import type { Reply } from '../support/service.ts';
import { dataDir } from '../support/service-process.ts';

t.setTimeout(600_000);

const CLIENTS = 64;
const server = await PostgresServer.start(t);
const database = await server.database();
/** Where the services, which give up being root, can read it. */
const clock = `${await dataDir(t)}.clock`;
const setClock = (aheadMs: number) => writeFileSync(clock, `${aheadMs}`);
setClock(0);
const container = {
  env: { ...HOSTED, CLOCK_FILE: clock },
  flags: ['--import', new URL('../support/set-clock.mjs', import.meta.url).href],
};
const services = await startContainers(t, database, [container, container, container]);

const each = <T>(work: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: CLIENTS }, (_, i) => work(i)));
const through = (i: number, name: string) => new FeedClient(services[i % 3]!.url, name);
const attach = (feed: FeedClient, license: string) =>
  feed.send('PUT', '/license', JSON.stringify({ license }));

/** How often each status and code came. */
function tally(replies: readonly Reply[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, json } of replies) {
    const key = json?.code ? `${status} ${json.code}` : `${status}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

t.test('of 64 clients with one license for three feeds, three attach it', async (t) => {
  await each((i) => through(i, `plover-${i}`).post());
  const license = licenseFor({ feeds: 3 });
  const replies = await each((i) => attach(through(i, `plover-${i}`), license));
  t.same(tally(replies), { 200: 3, '409 taken': 61 });
  const records = await each((i) => through(i + 1, `plover-${i}`).get());
  t.equal(records.filter(({ json }) => json.license !== null).length, 3);

  const first = replies.findIndex(({ status }) => status === 200);
  await through(first, `plover-${first}`).send('DELETE', '/license');
  const again = await each((i) => attach(through(i, `plover-${i}`), license));
  t.same(tally(again), { 200: 3, '409 taken': 61 });
});

t.test('of 64 clients that post to a feed of 990 notes, ten do', async (t) => {
  for (let left = 990; left > 0; left -= CLIENTS)
    await Promise.all(Array.from({ length: Math.min(left, CLIENTS) }, (_, i) => through(i, 'stilt').post()));
  const replies = await each((i) => through(i, 'stilt').post(`${i}`));
  t.same(tally(replies), { 201: 10, '507 note_limit': 54 });
});

t.test('when a license ends, forms are stored whole or refused whole, in all containers', async (t) => {
  const feed = (i: number) => through(i, 'dunlin');
  await feed(0).post();
  const today = new Date().toISOString().slice(0, 10);
  t.equal((await attach(feed(0), licenseFor({ until: today }))).status, 200);
  const body = formBody([field('text', '![p](p.png)'), file('file', 'p.png', 'image/png', picture('png'))]);
  let answered = 0;
  const replies = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const reply = await feed(i).post(body, { 'content-type': FORM_TYPE });
      answered += 1;
      if (answered === 10) setClock(24 * 60 * 60 * 1000);
      return reply;
    }),
  );
  const counts = tally(replies);
  t.same(
    Object.keys(counts).filter((key) => key !== '201' && key !== '402 license_required'),
    [],
  );
  for (let i = 0; i < 3; i += 1) {
    t.ok(await eventually(async () => (await feed(i).get()).json.license === null));
    t.equal((await feed(i).post(body, { 'content-type': FORM_TYPE })).status, 402);
    t.equal((await feed(i).post('text')).status, 201);
  }
  const { notes } = (await feed(0).list('?limit=100')).json;
  const count = (isText: boolean) =>
    notes.filter(({ type }: { type: string }) => (type === 'text/markdown') === isText).length;
  const stored = counts[201] ?? 0;
  t.ok(stored >= 10);
  t.same([count(true), count(false)], [stored + 4, stored]);
});
