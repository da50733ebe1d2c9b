/** X-Forwarded-For as it comes over the wire: whatever the client puts before the proxy's own address. */
import t from 'tap';
import type { Operation } from '../../src/http/exchange.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

const operations: Operation[] = [
  { id: 'client', method: 'GET', path: '/', handle: (exchange) => text(200, exchange.client) },
  { id: 'later', method: 'GET', path: '/later', handle: async (exchange) => text(200, exchange.client) },
  { id: 'posted', method: 'POST', path: '/', handle: async (exchange) => text(200, exchange.client) },
  { id: 'unseen', method: 'DELETE', path: '/', handle: async () => text(200, 'not asked for') },
];

const NOT_UTF8 = Buffer.from('X-Forwarded-For: a\xff\xfeb, 192.0.2.7\r\n', 'latin1');
const TWO_LINES = Buffer.from('X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 192.0.2.7\r\n');

const requests: [start: string, answer: string][] = [
  ['GET / HTTP/1.1\r\n', '192.0.2.7'],
  ['GET /later HTTP/1.1\r\n', '192.0.2.7'],
  ['POST / HTTP/1.1\r\nContent-Length: 0\r\n', '192.0.2.7'],
  ['DELETE / HTTP/1.1\r\n', 'not asked for'],
];

for (const [what, field] of [
  ['bytes that are no UTF-8 end nothing', NOT_UTF8],
  ['the last of two lines counts', TWO_LINES],
] as const)
  t.test(what, async (t) => {
    const server = await listen(t, operations, { trustProxy: true });
    const connection = await RawConnection.open(server.port);
    t.teardown(() => connection.close());
    for (const [start, answer] of requests) {
      connection.send(Buffer.concat([Buffer.from(`${start}Host: test\r\n`), field, Buffer.from('\r\n')]));
      const { status, body } = await connection.response();
      t.same([status, body.toString()], [200, answer], start.trim());
    }
  });
