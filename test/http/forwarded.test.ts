/** X-Forwarded-For as it comes over the wire: whatever the client puts before the proxy's own address. */
import t, { type Test } from 'tap';
import type { Operation } from '../../src/http/exchange.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

const operations: Operation[] = [
  { id: 'client', method: 'GET', path: '/', handle: (exchange) => text(200, exchange.client) },
  { id: 'later', method: 'GET', path: '/later', handle: async (exchange) => text(200, exchange.client) },
  { id: 'posted', method: 'POST', path: '/', handle: async (exchange) => text(200, exchange.client) },
  { id: 'base', method: 'GET', path: '/base', handle: (exchange) => text(200, exchange.base) },
  { id: 'unseen', method: 'DELETE', path: '/', handle: async () => text(200, 'not asked for') },
];

const NAMES = Buffer.from(
  'X-Forwarded-Host: forged.example\r\nX-Forwarded-Host: inner.example, Outer.example\r\n' +
    'X-Forwarded-Proto: http, https\r\n',
);
const NOT_UTF8 = Buffer.from('X-Forwarded-For: a\xff\xfeb, 192.0.2.7\r\n', 'latin1');
const TWO_LINES = Buffer.from('X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 192.0.2.7\r\n');

const requests: [start: string, answer: string][] = [
  ['GET / HTTP/1.1\r\n', '192.0.2.7'],
  ['GET /later HTTP/1.1\r\n', '192.0.2.7'],
  ['POST / HTTP/1.1\r\nContent-Length: 0\r\n', '192.0.2.7'],
  ['DELETE / HTTP/1.1\r\n', 'not asked for'],
];

/** The answer to a request with those header fields. */
async function answerTo(t: Test, { port }: HttpServer, start: string, fields: Buffer | string) {
  const connection = await RawConnection.open(port);
  t.teardown(() => connection.close());
  connection.send(
    Buffer.concat([Buffer.from(`${start}Host: test\r\n`), Buffer.from(fields), Buffer.from('\r\n')]),
  );
  const { status, body } = await connection.response();
  return [status, body.toString()];
}

for (const [what, field] of [
  ['bytes that are no UTF-8 end nothing', NOT_UTF8],
  ['the last of two lines counts', TWO_LINES],
] as const)
  t.test(what, async (t) => {
    const server = await listen(t, operations, { trustProxy: true });
    for (const [start, answer] of requests)
      t.same(await answerTo(t, server, start, field), [200, answer], start.trim());
  });

t.test('the base is what the proxy wrote itself: the last of each', async (t) => {
  const trusting = await listen(t, operations, { trustProxy: true });
  const start = 'GET /base HTTP/1.1\r\n';
  t.same(await answerTo(t, trusting, start, NAMES), [200, 'https://outer.example']);
  t.same(await answerTo(t, trusting, start, 'X-Forwarded-Host: \r\n'), [200, 'http://test']);
  const other = await listen(t, operations);
  t.same(await answerTo(t, other, start, NAMES), [200, 'http://test']);
});

t.test('a proxy that is not trusted is told of once', async (t) => {
  let told = 0;
  const onUntrustedProxy = () => {
    told += 1;
  };
  for (const [start] of requests.slice(1)) {
    told = 0;
    const server = await listen(t, operations, { onUntrustedProxy });
    await answerTo(t, server, start, '');
    t.equal(told, 0);
    for (let i = 0; i < 3; i += 1) await answerTo(t, server, start, TWO_LINES);
    t.equal(told, 1, start);
  }
  told = 0;
  const trusting = await listen(t, operations, { onUntrustedProxy, trustProxy: true });
  for (const [start] of requests) await answerTo(t, trusting, start, TWO_LINES);
  t.equal(told, 0, 'nor is one that is trusted');
});
