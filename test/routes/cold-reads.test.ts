/** What a read takes of a database and of threads: no more than what the client gets. */
import t, { type Test } from 'tap';
import { Database } from '../../src/storage/postgres/database.ts';
import { ThreadCalls } from '../../src/storage/thread-calls.ts';
import { WorkerPool } from '../../src/worker-pool.ts';
import { CountingProxy } from '../support/counting-proxy.ts';
import { exactly } from '../support/exact-request.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { post, start } from '../support/service.ts';

const BYTES = picture('gif', 5 * 1024 * 1024, 3);
const SECRET = 'a secret of tests that is long enough';

type Count = (work: () => Promise<unknown>) => Promise<number>;

/** Asks for a picture in several ways, each time of a service that has just started. */
async function askInParts(t: Test, env: Record<string, string>, count: Count): Promise<void> {
  let service = await start(t, { SERVICE_SECRET: SECRET, ...env });
  const posted = await post(`${service.url}/key`, BYTES, { 'content-type': 'image/gif' });
  const { pathname } = new URL(posted.json.file_url);
  const { etag } = (await exactly(service.url + pathname)).headers;
  const readId = pathname.split('/')[2];
  for (const [what, method, headers, status, length, most] of [
    ['whether it is there', 'HEAD', {}, 200, 0, 20_000],
    ['whether it is another', 'GET', { 'if-none-match': etag! }, 304, 0, 20_000],
    ['a range', 'GET', { range: 'bytes=3000000-3000999' }, 206, 1000, 20_000],
    ['all of it', 'GET', {}, 200, BYTES.length, 2.1 * BYTES.length],
  ] as const) {
    service = await service.restart();
    // What every first request makes the service load.
    await exactly(`${service.url}/r/${readId}/feed.xml`);
    const bytes = await count(async () => {
      const reply = await exactly(service.url + pathname, { method, headers });
      t.equal(reply.status, status, what);
      t.equal(reply.bytes.length, length);
    });
    t.ok(bytes <= most, `${what} takes ${bytes} bytes`);
  }
  const settings = { method: 'PUT', headers: { 'content-type': 'application/json' } };
  const image = posted.json.file;
  const bytes = await count(async () => {
    const body = JSON.stringify({ title: '', description: '', show_sender: true, image });
    t.equal((await fetch(`${service.url}/api/v1/feeds/key`, { ...settings, body })).status, 200);
  });
  t.ok(bytes <= 20_000, `whether it can be the title image takes ${bytes} bytes`);
}

t.test('on PostgreSQL', async (t) => {
  const server = await PostgresServer.start(t);
  const proxy = await CountingProxy.start(t, server.port);
  const url = (await server.database()).replace(String(server.port), String(proxy.port));
  await askInParts(t, { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url }, async (work) =>
    proxy.during(work),
  );
});

/** Calls of a method while this test runs. */
function callsOf<T extends object>(t: Test, target: T, method: keyof T & string): unknown[][] {
  const calls: unknown[][] = [];
  const called = target[method] as (...args: unknown[]) => unknown;
  t.intercept(target, method, {
    value: function (this: T, ...args: unknown[]) {
      calls.push(args);
      return called.apply(this, args);
    },
  });
  return calls;
}

t.test(
  'a cold RSS takes one statement on PostgreSQL, and no task but rendering, which compresses it, too',
  async (t) => {
    const [statements, tasks] = [
      callsOf(t, Database.prototype, 'read'),
      callsOf(t, WorkerPool.prototype, 'run'),
    ];
    const server = await PostgresServer.start(t);
    const env = { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: await server.database() };
    const { url } = await start(t, { SERVICE_SECRET: SECRET, ...env });
    const feed = { text: `> ${'A *quote* with `code`. '.repeat(20)}`, readUrl: '' };
    for (let n = 0; n < 10; n += 1)
      feed.readUrl = (await post(`${url}/key`, `${n}\n\n${feed.text}`)).json.read_url;
    statements.length = 0;
    tasks.length = 0;
    const reply = await exactly(feed.readUrl, { headers: { 'accept-encoding': 'br' } });
    t.equal(reply.headers['content-encoding'], 'br');
    t.equal(statements.length, 1);
    // On a busy machine a second lane may have to end what the first began.
    t.same(new Set(tasks.map(([work]) => work)), new Set(['render-texts']));
  },
);

t.test('on SQLite', async (t) => {
  const { call } = ThreadCalls.prototype;
  let bytes = 0;
  t.intercept(ThreadCalls.prototype, 'call', {
    value: async function (this: unknown, ...args: Parameters<typeof call>) {
      const result: unknown = await call.apply(this as never, args);
      bytes += (result as { content?: Uint8Array } | undefined)?.content?.length ?? 0;
      return result;
    },
  });
  await askInParts(t, { SERVICE_STORAGE: 'sqlite', SERVICE_DATABASE_URL: '' }, async (work) => {
    const before = bytes;
    await work();
    return bytes - before;
  });
});
