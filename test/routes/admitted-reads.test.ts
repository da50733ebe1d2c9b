/** What a client was admitted to is what it reads: never another feed that took the name meanwhile. */
import { existsSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { ask, post } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const OLD = { 'x-feed-password': 'the old owner' };
const NEW = { 'x-feed-password': 'the new owner' };
const MCP = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const callOf = (name: string, input: object) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } });

interface Place {
  readonly feed: string;
  /** A note of the old feed. */
  readonly id: string;
}

type Request = readonly [path: string, init?: RequestInit];
const READS: Record<string, (place: Place) => Request> = {
  list: ({ feed }) => [`/api/v1/feeds/${feed}/notes`],
  tag: ({ feed }) => [`/api/v1/feeds/${feed}/notes?tag=theirs`],
  'list before a note': ({ feed, id }) => [`/api/v1/feeds/${feed}/notes?before=${id}`],
  note: ({ feed, id }) => [`/api/v1/feeds/${feed}/notes/${id}`],
  page: ({ feed }) => [`/${feed}`],
  'note page': ({ feed, id }) => [`/${feed}/${id}`],
  tool: ({ feed }) => [
    '/mcp',
    {
      method: 'POST',
      body: callOf('list_notes', { feed, password: OLD['x-feed-password'] }),
      headers: MCP,
    },
  ],
};

/** A feed with a password that this process has not verified, so that verifying it takes a thread. */
async function madeBefore(t: Test, dir: string, names: readonly string[]) {
  const service = await ServiceProcess.start(t, { dir });
  const feeds = [];
  for (const feed of names) {
    const reply = await post(`${service.url}/${feed}`, 'mine', { ...OLD, 'sec-fetch-site': 'same-origin' });
    feeds.push({ feed, id: reply.json.id as string, cookie: reply.headers.getSetCookie().join('; ') });
  }
  await service.kill('SIGTERM');
  return feeds;
}

for (const storage of ['fs', 'sqlite', 'postgres'])
  t.test(storage, async (t) => {
    process.env.SERVICE_STORAGE = storage;
    const dir = await dataDir(t);
    await chmod(dirname(dir), 0o777);
    const reads = Object.entries(READS);
    const feeds = await madeBefore(
      t,
      dir,
      reads.map((_, i) => `feed-${i}`),
    );
    const held = `${dir}.held`;
    const flags = ['--import', new URL('../support/held-passwords.mjs', import.meta.url).href];
    const { url } = await ServiceProcess.start(t, { dir, flags, env: { HELD_BY: held } });
    for (const [i, [what, read]] of reads.entries()) {
      const { feed, id, cookie } = feeds[i]!;
      const [path, init = {}] = read({ feed, id });
      await writeFile(held, '');
      const reading = ask(`${url}${path}`, { ...init, headers: { ...OLD, ...init.headers } });
      t.ok(await eventually(() => existsSync(`${held}.waits`)), 'its password waits');
      const owner = { cookie, 'sec-fetch-site': 'same-origin' };
      const gone = await ask(`${url}/api/v1/feeds/${feed}`, { method: 'DELETE', headers: owner });
      t.equal(gone.status, 204, what);
      t.equal((await post(`${url}/${feed}`, 'theirs', { ...NEW, 'x-note-tags': 'theirs' })).status, 201);
      await rm(held);
      const { status, text } = await reading;
      await rm(`${held}.waits`);
      t.ok([200, 400, 404].includes(status), `${what}: ${status}`);
      t.notMatch(text, /theirs/, what);
    }
  });
