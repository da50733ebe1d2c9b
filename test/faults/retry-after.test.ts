/** Whoever gets a 503 is told when to try again, also while PostgreSQL is down. */
import t from 'tap';
import { containerSettings } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, post, type Reply, start } from '../support/service.ts';

t.setTimeout(600_000);

const HTML = { headers: { accept: 'text/html' } };
const FORM = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };

t.test('while PostgreSQL is down every 503 has Retry-After', async (t) => {
  const postgres = await PostgresServer.start(t);
  const { url } = await start(t, containerSettings(await postgres.database()));
  t.equal((await post(`${url}/heron`, 'first')).status, 201);
  await postgres.stop('SIGQUIT');
  t.ok(await eventually(async () => (await ask(`${url}/health/ready`)).status === 503));

  const requests: Record<string, () => Promise<Reply>> = {
    readiness: () => ask(`${url}/health/ready`),
    'a post': () => post(`${url}/heron`, 'second'),
    'a first post': () => post(`${url}/egret`, 'first'),
    'a list': () => ask(`${url}/api/v1/feeds/heron/notes`),
    'a public list': () => ask(`${url}/api/v1/read/unknown-id/notes`),
    'a file': () => ask(`${url}/r/unknown-id/note.md`),
    events: () => ask(`${url}/r/unknown-id/events`),
    'a page': () => ask(`${url}/heron`, HTML),
    'a form': () =>
      ask(`${url}/heron/delete`, {
        method: 'POST',
        body: 'title=a',
        headers: { ...FORM, ...HTML.headers },
      }),
    'a deletion': () => ask(`${url}/api/v1/feeds/heron`, { method: 'DELETE' }),
  };
  for (const [what, request] of Object.entries(requests)) {
    const { status, headers } = await request();
    t.same([status, headers.get('retry-after')], [503, '5'], what);
  }
});
