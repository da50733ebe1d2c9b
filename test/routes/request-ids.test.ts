/** The id of a request in its answer and its log lines, through HTTP. */
import t from 'tap';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { picture } from '../support/pictures.ts';
import { ask, type LogLine, post, type Reply, start } from '../support/service.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

const isOf = (id: string | null) => (line: LogLine) => line.fields.request === id;

t.test('every answer names its request, and the log line has the same name', async (t) => {
  const { url, lines } = await start(t, { SERVICE_METRICS: '1' });
  const posted = await post(`${url}/a-feed`, 'a text');
  const file = (await post(`${url}/a-feed`, picture('png', 1_000_000), { 'content-type': 'image/png' })).json;
  const rss = await ask(posted.json.read_url);
  const unchanged = () =>
    ask(posted.json.read_url, { headers: { 'if-none-match': rss.headers.get('etag') ?? '' } });
  const answers: [what: string, status: number, reply: Reply][] = [
    ['a post', 201, posted],
    ['a view', 200, rss],
    ['a 304', 304, await unchanged()],
    ['a 304 from the cache', 304, await unchanged()],
    ['a file', 200, await ask(file.file_url)],
    ['HEAD', 200, await ask(posted.json.read_url, { method: 'HEAD' })],
    ['a page', 200, await ask(`${url}/a-feed`, { headers: { accept: 'text/html' } })],
    ['a refusal', 400, await post(`${url}/Not A Feed`, 'x')],
    ['an unknown address', 404, await ask(`${url}/a/b/c/d/e`)],
    ['a wrong method', 405, await ask(`${url}/health`, { method: 'PUT' })],
    ['a deletion', 204, await ask(`${url}/a-feed/${posted.json.id}`, { method: 'DELETE' })],
    ['the metrics', 200, await ask(`${url}/metrics`)],
    ['the state', 200, await ask(`${url}/health/ready`)],
  ];
  const ids = new Set<string>();
  for (const [what, status, reply] of answers) {
    const id = reply.headers.get('x-request-id');
    t.equal(reply.status, status, what);
    t.match(id, /^[0-9a-f]{16}$/, what);
    t.ok(await eventually(() => lines.some(isOf(id))), `${what}: in the log`);
    ids.add(id!);
  }
  t.equal(ids.size, answers.length);
});

t.test('so does a stream, whose line comes at its end', async (t) => {
  const { url, lines } = await start(t);
  await post(`${url}/a-feed`, 'x');
  const headers = { traceparent: TRACEPARENT };
  const stream = await EventStream.open(t, `${url}/api/v1/feeds/a-feed/events`, headers);
  const id = stream.response.headers['x-request-id'] as string;
  t.match(id, /^[0-9a-f]{16}$/);
  stream.close();
  t.ok(await eventually(() => lines.some(isOf(id))));
  t.match(lines.find(isOf(id))?.fields, { trace: TRACE, span: SPAN });
});

t.test('the trace of a caller is in each line of the request, and a broken one in none', async (t) => {
  const { url, lines } = await start(t, { SERVICE_TRUST_PROXY: '1' });
  await post(`${url}/a-feed`, 'x', { 'x-request-id': 'first', traceparent: TRACEPARENT });
  await post(`${url}/a-feed`, 'x', { 'x-request-id': 'second', traceparent: TRACEPARENT.slice(1) });
  const accept = 'application/json, text/event-stream';
  const params = { name: 'post_note', arguments: { feed: 'a-feed', markdown: 'y' } };
  await ask(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept,
      'x-request-id': 'third',
      traceparent: TRACEPARENT,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const said = (id: string) => lines.filter(isOf(id)).map(({ message, fields }) => [message, fields.trace]);
  await eventually(() => said('third').length === 3);
  t.strictSame(said('first'), [
    ['feed created', TRACE],
    ['note posted', TRACE],
    ['request', TRACE],
  ]);
  t.strictSame(said('second'), [
    ['note posted', undefined],
    ['request', undefined],
  ]);
  t.strictSame(said('third'), [
    ['note posted', TRACE],
    ['tool', TRACE],
    ['request', TRACE],
  ]);
});
