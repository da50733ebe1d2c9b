/** Where a request ends: what follows one whose end is not certain is never taken for a request. */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Operation, Outcome } from '../../src/http/exchange.ts';
import { headers } from '../../src/http/headers.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection, type RawResponse } from '../support/raw-connection.ts';

const HOST = 'Host: test\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const SMUGGLED = `GET / HTTP/1.1\r\n${HOST}\r\n`;
/** Fields after an empty name are hidden from the service. */
const HIDDEN_LENGTH = `: x\r\nContent-Length: ${SMUGGLED.length}\r\n`;
const KIB_64 = Buffer.alloc(65_536);
const LIMIT = 100_000;

let stored = 0;
const operations: Operation[] = [
  { id: 'hello', method: 'GET', path: '/', handle: () => text(200, 'hello') },
  { id: 'at-once', method: 'POST', path: '/at-once', handle: () => text(200, 'done') },
  {
    id: 'store',
    method: 'POST',
    path: '/store',
    handle: async (exchange) => {
      const { length } = await exchange.body(LIMIT);
      stored++;
      return text(201, String(length));
    },
  },
  { id: 'none', method: 'DELETE', path: '/none', handle: () => ({ status: 204, headers: headers({}) }) },
];

t.test('the end of a request', async (t) => {
  const outcomes: Outcome[] = [];
  const server = await listen(t, operations, { observe: (outcome) => outcomes.push(outcome) });
  const open = async (t: Test) => {
    const connection = await RawConnection.open(server.port);
    t.teardown(() => connection.close());
    return connection;
  };
  const ids = (from: number) => outcomes.slice(from).map(({ operation }) => operation?.id);

  for (const head of ['POST /at-once', 'POST /store', 'DELETE /none', 'PUT /', 'PATCH /nowhere', 'ODD /']) {
    const request = `${head} HTTP/1.1\r\n${HOST}`;

    t.test(`${head} without a length is answered, and ends its connection`, async (t) => {
      const connection = await open(t);
      connection.send(`${request}\r\n`);
      t.equal((await connection.response()).headers.connection, 'close');
      await connection.closed;
    });

    t.test(`${head} with a hidden length: its body is no request`, async (t) => {
      const before = outcomes.length;
      const atOnce = await open(t);
      atOnce.send(`${request}${HIDDEN_LENGTH}\r\n${SMUGGLED}`);
      await atOnce.closed;
      const inPieces = await open(t);
      inPieces.send(`${request}${HIDDEN_LENGTH}\r\n`);
      await inPieces.response();
      inPieces.send(SMUGGLED);
      await inPieces.closed;
      t.equal(outcomes.length, before + 2);
      t.notMatch(ids(before), ['hello']);
    });
  }

  for (const path of ['/at-once', '/store', '/nowhere']) {
    const request = `POST ${path} HTTP/1.1\r\n${HOST}${CHUNKED}\r\n`;

    t.test(`${path}: a chunked request ends its connection`, async (t) => {
      const connection = await open(t);
      connection.send(`${request}3\r\nabc\r\n0\r\n\r\n`);
      t.equal((await connection.response()).headers.connection, 'close');
      await connection.closed;
    });

    for (const end of ['\r\n', 'XX', 'X-Trailer: 1\r\n\r\n'])
      t.test(`${path}: nothing after the last chunk and ${JSON.stringify(end)} is a request`, async (t) => {
        const before = outcomes.length;
        const connection = await open(t);
        connection.send(`${request}3\r\nabc\r\n0\r\n${end}${SMUGGLED}`);
        await connection.closed;
        t.same(ids(before).includes('hello'), false);
      });
  }

  t.test('a chunked body with trailers gets no answer, so nothing is stored', async (t) => {
    const before = stored;
    const connection = await open(t);
    connection.send(`POST /store HTTP/1.1\r\n${HOST}${CHUNKED}\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n`);
    await connection.closed;
    t.equal(stored, before);
  });

  for (const option of ['close', 'Close', 'x-a, close', 'close\t,x-a'])
    for (const head of ['GET /', 'DELETE /none'])
      t.test(`${head}: nothing behind Connection: ${option} is a request`, async (t) => {
        const request = `${head} HTTP/1.1\r\n${HOST}Content-Length: 0\r\nConnection: ${option}\r\n\r\n`;
        const connection = await open(t);
        connection.send(request);
        t.match((await connection.response()).status, /20[04]/);
        await connection.closed;

        const before = outcomes.length;
        const both = await open(t);
        both.send(`${request}POST /store HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`);
        await both.closed;
        t.equal(outcomes.length, before + 1);
      });

  t.test('requests whose end is certain share a connection', async (t) => {
    const connection = await open(t);
    for (const request of [
      SMUGGLED,
      `HEAD / HTTP/1.1\r\n${HOST}\r\n`,
      `OPTIONS / HTTP/1.1\r\n${HOST}\r\n`,
      `DELETE /none HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`,
      `POST /store HTTP/1.1\r\n${HOST}Content-Length: 3\r\n\r\nabc`,
    ]) {
      connection.send(request);
      t.equal((await connection.response(request.startsWith('HEAD'))).headers.connection, undefined, request);
    }
  });
});

t.test('a refusal comes while its client goes on sending, and the connection ends later', async (t) => {
  const outcomes: Outcome[] = [];
  const server = await listen(t, operations, { observe: (outcome) => outcomes.push(outcome) });
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), KIB_64, Buffer.from('\r\n')]);
  for (const [name, field, piece] of [
    ['a length beyond the limit', 'Content-Length: 50000000\r\n', KIB_64],
    ['chunks beyond the limit', CHUNKED, chunk],
  ] as const)
    t.test(name, async (t) => {
      const connection = await RawConnection.open(server.port);
      t.teardown(() => connection.close());
      let answer: RawResponse | undefined;
      connection.send(`POST /store HTTP/1.1\r\n${HOST}${field}\r\n`);
      connection.response().then((response) => {
        answer = response;
      });
      for (let sent = 0; answer === undefined && sent < 200; sent++) {
        connection.send(piece);
        await delay(10);
      }
      t.match(answer, { status: 413, headers: { connection: 'close' } }, 'before the client has stopped');
      t.match(JSON.parse(String(answer?.body)), { code: 'too_large' });
      // In turns of the loop, because a pause of 200 ms, as on a busy machine, is the end.
      for (let sent = 0; sent < 20; sent++) {
        connection.send(piece);
        await nextTurn();
      }
      t.notOk(connection.isClosed, 'what is on its way is taken, so that no reset discards the answer');
      await connection.closed;
      t.match(outcomes.at(-1), { status: 413, code: 'too_large' });
      t.equal(server.openRequests, 0);
    });
});
