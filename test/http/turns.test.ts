/** Requests that come at once in one turn of the event loop. */
import t from 'tap';
import type { Operation } from '../../src/http/exchange.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

const HOST = 'Host: test\r\n';
const AT_ONCE = 100;

/** Counts its calls, each of which keeps the event loop busy. */
function busy(calls: { count: number }): Operation[] {
  const handle = () => {
    calls.count += 1;
    const end = performance.now() + 30;
    while (performance.now() < end);
    return text(200, 'done');
  };
  return (['GET', 'POST'] as const).map((method) => ({ id: `busy-${method}`, method, path: '/', handle }));
}

for (const [what, request] of [
  ['reads', `GET / HTTP/1.1\r\n${HOST}\r\n`],
  ['writes', `POST / HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`],
  ['wrong paths', `GET /%zz HTTP/1.1\r\n${HOST}\r\n`],
] as const)
  t.test(`a client that sends many ${what} at once gets no turn of the event loop for itself`, async (t) => {
    const calls = { count: 0 };
    let outcomes = 0;
    const observe = () => {
      outcomes += 1;
    };
    const server = await listen(t, busy(calls), { observe });
    const greedy = await RawConnection.open(server.port);
    t.teardown(() => greedy.close());
    greedy.send(`GET / HTTP/1.1\r\n${HOST}\r\n${request.repeat(AT_ONCE)}`);
    await greedy.closed;
    t.ok(outcomes < AT_ONCE, `${outcomes} requests`);
    t.ok(calls.count < outcomes, 'one that got no answer was not carried out');
  });

t.test('others whose requests come in the same turn get their answers', async (t) => {
  const calls = { count: 0 };
  const server = await listen(t, busy(calls));
  const others = await Promise.all(Array.from({ length: 10 }, () => RawConnection.open(server.port)));
  for (const [n, one] of others.entries()) {
    t.teardown(() => one.close());
    const body = n % 2 ? `Content-Length: 2\r\n\r\nhi` : '\r\n';
    one.send(`${n % 2 ? 'POST' : 'GET'} / HTTP/1.1\r\n${HOST}${body}`);
  }
  for (const one of others) t.equal((await one.response()).body.toString(), 'done');
  t.equal(calls.count, 10);
});

t.test('a few requests at once are answered in their order', async (t) => {
  const server = await listen(t, [
    { id: 'one', method: 'GET', path: '/{n}', handle: ({ parameters }) => text(200, parameters[0]!) },
  ]);
  const client = await RawConnection.open(server.port);
  t.teardown(() => client.close());
  client.send(['a', 'b', 'c'].map((n) => `GET /${n} HTTP/1.1\r\n${HOST}\r\n`).join(''));
  for (const n of ['a', 'b', 'c']) t.equal((await client.response()).body.toString(), n);
});

t.test('a body of more chunks at once than any program writes ends its connection', async (t) => {
  const server = await listen(t, [
    {
      id: 'upload',
      method: 'POST',
      path: '/',
      handle: async (exchange) => text(200, String((await exchange.body(1024 * 1024)).length)),
    },
  ]);
  const head = `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`;
  const lines = await RawConnection.open(server.port);
  t.teardown(() => lines.close());
  lines.send(`${head}${'14\r\n20 bytes in a chunk.\r\n'.repeat(5_000)}0\r\n\r\n`);
  t.equal((await lines.response()).body.toString(), '100000');
  const flood = await RawConnection.open(server.port);
  t.teardown(() => flood.close());
  flood.send(`${head}${'1\r\na\r\n'.repeat(500_000)}0\r\n\r\n`);
  await t.rejects(flood.response());
  const refused = await RawConnection.open(server.port);
  t.teardown(() => refused.close());
  refused.send(`${head.replace('/', '/nowhere')}${'1\r\na\r\n'.repeat(500_000)}`);
  await refused.closed;
  t.equal(server.bodies.used, 0);
  t.equal(server.openRequests, 0);
});
