/** Every log line about one feed names it, by its keyed hash. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import { feedHash } from '../../src/telemetry/fields.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { ask, start, type TestService, tempDir } from '../support/service.ts';

const SECRET = 'a secret of tests that is long enough';
const OPERATOR_TOKEN = 'a token of the operator for these tests';
const NAME = 'a-very-secret-feed' as FeedName;
const HASH = feedHash(Buffer.from(SECRET))(NAME);

/** What the lines with the hash say, and of requests their route. */
function linesOf({ lines }: TestService): unknown[] {
  return lines
    .filter(({ fields }) => fields.feed === HASH)
    .map(({ message, fields }) => (message === 'request' ? fields.route : message));
}

async function callTool({ url }: TestService): Promise<void> {
  const params = { name: 'get_feed', arguments: { feed: NAME } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const accept = 'application/json, text/event-stream';
  await ask(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json', accept }, body });
}

async function takeDown({ url }: TestService, readId: string): Promise<void> {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ read_id: readId });
  await ask(`${url}/api/operator/takedown`, { method: 'POST', headers, body });
}

t.test('requests, changes, tools and streams', async (t) => {
  const service = await start(t, { SERVICE_SECRET: SECRET, SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN });
  const { id, read_url } = (await new FeedClient(service.url, NAME).post('x')).json;
  await ask(`${service.url}/${NAME}/${id}`, { method: 'DELETE' });
  await ask(`${service.url}/${NAME}`, { headers: { accept: 'text/html' } });
  await callTool(service);
  await takeDown(service, new URL(read_url).pathname.split('/')[2]!);
  t.strictSame(linesOf(service), [
    'feed created',
    'note posted',
    '/{feed}',
    'note deleted',
    '/{feed}/{id}',
    '/{feed}',
    'tool',
    'feed deleted',
    'operator',
  ]);
  (await EventStream.open(t, `${service.url}/api/v1/feeds/${NAME}/events`)).close();
  t.ok(await eventually(() => linesOf(service).at(-1) === '/api/v1/feeds/{feed}/events'));
  t.notMatch(JSON.stringify(service.lines), NAME);
});

t.test('requests and calls that fail, on an instance that logs no others', async (t) => {
  const service = await start(t, { SERVICE_SECRET: SECRET, SERVICE_LOG_REQUESTS: '0' });
  await new FeedClient(service.url, NAME).post('x');
  await callTool(service);
  t.strictSame(linesOf(service), ['feed created', 'note posted']);
});

t.test('what is wrong with the files of a feed', async (t) => {
  const dir = await tempDir(t);
  await mkdir(join(dir, NAME));
  await writeFile(join(dir, NAME, '.readid'), 'not a read id');
  await writeFile(join(dir, NAME, '.feed.json'), 'not JSON');
  const service = await start(t, { SERVICE_STORAGE: 'fs', SERVICE_SECRET: SECRET }, dir);
  t.match(linesOf(service).sort(), [/^a file cannot be read/, /\.readid of a feed/]);
  await writeFile(join(dir, NAME, '.readid'), 'still not a read id');
  t.ok(await eventually(() => linesOf(service).length > 2), 'a change by hand');
  t.notMatch(JSON.stringify(service.lines), NAME);
});
