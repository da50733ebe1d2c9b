/** What an answer holds is freed once, whatever becomes of its request. */
import t from 'tap';
import type { Answer } from '../../src/http/answer.ts';
import type { Operation, Outcome } from '../../src/http/exchange.ts';
import { headers } from '../../src/http/headers.ts';
import { eventually } from '../support/eventually.ts';
import { listen } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

const PIECE = Buffer.alloc(64 * 1024);
const PIECES = 400;
let held = 0;
let freed = 0;

/** An answer with a stream of 25 MiB, more than sockets take. */
function stream(pieces: number): Answer {
  held += 1;
  const chunks = async function* () {
    for (let n = 0; n < pieces; n += 1) yield PIECE;
    if (pieces < PIECES) throw new Error('on purpose');
  };
  const close = () => {
    freed += 1;
  };
  return {
    status: 200,
    headers: headers({}),
    body: { size: PIECES * PIECE.length, chunks: chunks(), close },
  };
}

const operations: Operation[] = [
  { id: 'now', method: 'GET', path: '/now', handle: () => stream(PIECES) },
  { id: 'later', method: 'GET', path: '/later', handle: async () => stream(PIECES) },
  { id: 'fails', method: 'GET', path: '/fails', handle: async () => stream(3) },
];

const BODIES = ['', 'Transfer-Encoding: chunked\r\n', 'Content-Length: 2000000\r\n', 'Content-Length: 9\r\n'];

for (const path of ['/now', '/later', '/fails'])
  for (const method of ['GET', 'HEAD'])
    for (const body of BODIES)
      t.test(`${method} ${path} ${body.trim()}`, async (t) => {
        const outcomes: Outcome[] = [];
        const observe = (outcome: Outcome) => outcomes.push(outcome);
        const server = await listen(t, operations, { observe, limits: { stop: 50 } });
        const request = async () => {
          const connection = await RawConnection.open(server.port);
          connection.socket.pause();
          connection.send(`${method} ${path} HTTP/1.1\r\nHost: test\r\n${body}\r\n`);
          return connection;
        };
        [held, freed] = [0, 0];
        (await request()).close();
        const leaving = await request();
        t.ok(await eventually(() => held > 0));
        leaving.close();
        t.ok(await eventually(() => outcomes.length === held && server.openRequests === 0));
        t.equal(freed, held, 'of clients that left');

        const stopped = await request();
        const before = held;
        t.ok(await eventually(() => held > before || outcomes.length > before));
        await server.stop();
        t.ok(await eventually(() => outcomes.length === held));
        t.equal(freed, held, 'at the stop');
        stopped.close();
      });

t.test('an answer that is read to its end', async (t) => {
  const { port } = await listen(t, operations);
  [held, freed] = [0, 0];
  for (const path of ['/now', '/later']) {
    const body = await (await fetch(`http://127.0.0.1:${port}${path}`)).arrayBuffer();
    t.equal(body.byteLength, PIECES * PIECE.length);
  }
  await t.rejects(fetch(`http://127.0.0.1:${port}/fails`).then((answer) => answer.arrayBuffer()));
  t.ok(await eventually(() => freed === 3));
  t.equal(held, 3);
});
