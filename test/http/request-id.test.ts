import t from 'tap';
import type { Outcome } from '../../src/http/exchange.ts';
import { newRequestId, traceOf } from '../../src/http/request-id.ts';
import { eventually } from '../support/eventually.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

/** More than a socket takes at once. */
const LARGE = 20_000_000;

t.test('an id is 16 hexadecimal characters, and no two are the same', async (t) => {
  const ids = Array.from({ length: 2000 }, newRequestId);
  t.ok(ids.every((id) => /^[0-9a-f]{16}$/.test(id)));
  t.equal(new Set(ids).size, ids.length);
});

t.test('what a request is called and how much it brought and got', async (t) => {
  const outcomes: Outcome[] = [];
  const seen: string[] = [];
  const server = await listen(
    t,
    [
      { id: 'read', method: 'GET', path: '/', handle: () => text(200, 'hello') },
      {
        id: 'take',
        method: 'POST',
        path: '/',
        handle: async (exchange) => {
          seen.push(exchange.requestId);
          await exchange.body(1000);
          return text(200, 'taken');
        },
      },
      { id: 'large', method: 'GET', path: '/large', handle: () => text(200, 'x'.repeat(LARGE)) },
      {
        id: 'fail',
        method: 'GET',
        path: '/fail',
        handle: () => {
          throw new Error('on purpose');
        },
      },
    ],
    { observe: (outcome) => outcomes.push(outcome) },
  );
  const url = `http://127.0.0.1:${server.port}`;
  const ask = async (path: string, init: RequestInit = {}) => {
    const before = outcomes.length;
    const response = await fetch(url + path, init);
    await response.arrayBuffer();
    await eventually(() => outcomes.length > before);
    const outcome = outcomes.at(-1)!;
    return { header: response.headers.get('x-request-id'), outcome, requestId: outcome.request.requestId };
  };

  t.test('a post has its id from the handler to the log', async (t) => {
    const { header, outcome, requestId } = await ask('/', { method: 'POST', body: 'x'.repeat(300) });
    t.strictSame([requestId, header], [seen[0], seen[0]]);
    t.match(outcome, { received: 300, bytes: 5 });
  });

  t.test('a read brings nothing, and the answer to HEAD has no body', async (t) => {
    t.match((await ask('/')).outcome, { received: 0, bytes: 5 });
    t.match((await ask('/', { method: 'HEAD' })).outcome, { received: 0, bytes: 0 });
  });

  t.test('an answer that was cut off does not count as sent', async (t) => {
    t.match((await ask('/large')).outcome, { status: 200, bytes: LARGE });
    const before = outcomes.length;
    const connection = await RawConnection.open(server.port);
    connection.send('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => connection.socket.once('data', resolve));
    connection.close();
    await eventually(() => outcomes.length > before);
    t.match(outcomes.at(-1), { status: 499, bytes: 0 });
  });

  t.test('who gets an error, of ours or theirs, can name the request', async (t) => {
    for (const [path, status] of [
      ['/fail', 500],
      ['/nowhere', 404],
    ] as const) {
      const { header, outcome, requestId } = await ask(path);
      t.equal(outcome.status, status);
      t.match(header, /^[0-9a-f]{16}$/);
      t.equal(header, requestId);
    }
  });

  t.test('an id of an untrusted client is not taken', async (t) => {
    const { header } = await ask('/', { headers: { 'x-request-id': 'of-a-client' } });
    t.match(header, /^[0-9a-f]{16}$/);
  });
});

t.test('a trusted proxy names the request, if its name can stand in a log', async (t) => {
  const outcomes: Outcome[] = [];
  const server = await listen(
    t,
    [
      { id: 'now', method: 'GET', path: '/', handle: () => text(200, 'now') },
      { id: 'later', method: 'POST', path: '/', handle: async () => text(201, 'later') },
    ],
    { trustProxy: true, observe: (outcome) => outcomes.push(outcome) },
  );
  const idFor = async (start: string, ...fields: string[]) => {
    const connection = await RawConnection.open(server.port);
    t.teardown(() => connection.close());
    const before = outcomes.length;
    connection.send([start, 'Host: x', ...fields, '', ''].join('\r\n'));
    const { headers } = await connection.response(start.startsWith('HEAD'));
    await eventually(() => outcomes.length > before);
    const id = headers['x-request-id'];
    t.equal(id, outcomes.at(-1)!.request.requestId);
    return id;
  };
  const longest = 'x'.repeat(128);
  for (const start of ['GET / HTTP/1.1', 'HEAD / HTTP/1.1', 'GET /nowhere HTTP/1.1', 'POST / HTTP/1.1'])
    for (const id of ['a', 'Abc._-9', longest]) t.equal(await idFor(start, `X-Request-Id: ${id}`), id, start);
  for (const bad of ['', `${longest}x`, 'a b', 'a,b', 'a"b', '{}', 'caf\u00e9'])
    t.match(await idFor('GET / HTTP/1.1', `X-Request-Id: ${bad}`), /^[0-9a-f]{16}$/, bad);
  t.match(await idFor('GET / HTTP/1.1', 'X-Request-Id: a', 'X-Request-Id: b'), /^[0-9a-f]{16}$/, 'two');
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

t.test('the ids of a traceparent', async (t) => {
  for (const valid of [
    `00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-00`,
    `01-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-what-comes-later`,
  ])
    t.strictSame(traceOf(valid), { trace: TRACE, span: SPAN }, valid);
  for (const invalid of [
    '',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01-`,
    `cc-${TRACE}-${SPAN}-01more`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
  ])
    t.equal(traceOf(invalid), undefined, invalid);
});
