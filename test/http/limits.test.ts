/** Slow clients, full memory and the stop of the front end. Subtests run side by side: some wait for the clock. */
import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Operation, Outcome } from '../../src/http/exchange.ts';
import { headers } from '../../src/http/headers.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { listen, TEXT, text } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

t.jobs = 12;

const MIB = 1024 * 1024;
const HOST = 'Host: test\r\n';
/** Longer than a client may take nothing. */
const PRODUCER_MS = 4_000;
const BIG = Buffer.alloc(30 * MIB, 'x');

const operations: Operation[] = [
  { id: 'hello', method: 'GET', path: '/', handle: () => text(200, 'hello') },
  { id: 'big', method: 'GET', path: '/big', handle: () => ({ status: 200, headers: TEXT, body: BIG }) },
  {
    id: 'big-stream',
    method: 'GET',
    path: '/big-stream',
    handle: () => ({
      status: 200,
      headers: headers({}),
      body: {
        size: BIG.length,
        chunks: (async function* () {
          for (let at = 0; at < BIG.length; at += 65_536) yield BIG.subarray(at, at + 65_536);
        })(),
      },
    }),
  },
  ...[undefined, 2].map(
    (size): Operation => ({
      id: `slow-producer-${size}`,
      method: 'GET',
      path: `/slow-producer/${size === undefined ? 'chunked' : 'sized'}`,
      handle: () => ({
        status: 200,
        headers: headers({}),
        body: {
          ...(size !== undefined && { size }),
          chunks: (async function* () {
            yield Buffer.from('a');
            await delay(PRODUCER_MS, undefined, { ref: false });
            yield Buffer.from('b');
          })(),
        },
      }),
    }),
  ),
  {
    id: 'own',
    method: 'GET',
    path: '/own/{n}',
    handle: ({ parameters }) => ({
      status: 200,
      headers: TEXT,
      body: Buffer.alloc(BIG.length, parameters[0]),
    }),
  },
  {
    id: 'after',
    method: 'POST',
    path: '/after/{ms}',
    handle: async (exchange) => {
      await delay(Number(exchange.parameters[0]!), undefined, { ref: false });
      return text(200, String((await exchange.body(MIB)).length));
    },
  },
  {
    id: 'upload',
    method: 'POST',
    path: '/upload',
    handle: async (exchange) => text(200, String((await exchange.body(50 * MIB)).length)),
  },
];

/** Longer than any test. */
const NEVER = 3_600_000;
const quick = { limits: { admission: 300, paceWindow: 2_000, stalledReader: 2_500, stop: 2_000, tick: 50 } };

async function open(t: Test, server: HttpServer): Promise<RawConnection> {
  const connection = await RawConnection.open(server.port);
  t.teardown(() => connection.close());
  return connection;
}

function post(path: string, length: number, extra = ''): string {
  return `POST ${path} HTTP/1.1\r\n${HOST}${extra}Content-Length: ${length}\r\n\r\n`;
}

t.test('five slow 50 MiB uploads stop nobody from posting a note', async (t) => {
  const server = await listen(t, operations, {
    limits: { ...quick.limits, paceWindow: NEVER },
    bodyMemory: 256 * MIB,
    trustProxy: true,
  });
  const slow: RawConnection[] = [];
  for (let i = 0; i < 5; i++) {
    const connection = await open(t, server);
    connection.send(post('/upload', 50 * MIB, `X-Forwarded-For: 10.0.0.${i}\r\n`));
    connection.send(Buffer.alloc(1000));
    slow.push(connection);
  }
  while (server.bodies.used < 150 * MIB) await delay(5);
  t.ok(server.bodies.used <= 256 * MIB);
  for (let i = 0; i < 20; i++) {
    const note = await open(t, server);
    note.send(`${post('/upload', 5, `X-Forwarded-For: 10.0.1.${i}\r\n`)}hello`);
    t.equal((await note.response()).body.toString(), '5');
  }
  const refused = await Promise.race(slow.slice(3).map((connection) => connection.response()));
  t.equal(refused.status, 503);
  t.ok(refused.headers['retry-after']);
  t.equal(JSON.parse(refused.body.toString()).code, 'busy');
  for (const connection of slow) connection.close();
  while (server.bodies.used > 0) await delay(5);
});

t.test('one client cannot take the memory of all, and who waits is served when there is room', async (t) => {
  const server = await listen(t, operations, {
    limits: { ...quick.limits, admission: NEVER, paceWindow: NEVER },
    bodyMemory: 256 * MIB,
    trustProxy: true,
  });
  const from = (client: string) => `X-Forwarded-For: ${client}\r\n`;
  const first = await open(t, server);
  first.send(post('/upload', 50 * MIB, from('10.0.0.1')));
  while (server.bodies.used < 50 * MIB) await delay(5);
  const second = await open(t, server);
  second.send(post('/upload', 20 * MIB, from('10.0.0.1')));
  second.send(Buffer.alloc(20 * MIB));
  const other = await open(t, server);
  other.send(post('/upload', 20 * MIB, from('10.0.0.2')));
  other.send(Buffer.alloc(20 * MIB));
  t.equal((await other.response()).body.toString(), String(20 * MIB), 'another client is not held back');
  t.ok(server.bodies.used < 60 * MIB, 'the second upload waits, all but what was on its way');
  first.send(Buffer.alloc(50 * MIB));
  t.equal((await first.response()).body.toString(), String(50 * MIB));
  t.equal((await second.response()).body.toString(), String(20 * MIB));
  t.equal(server.bodies.used, 0);
});

t.test(
  'slow uploads that hold all the memory give way to others, the slowest first, as many as it takes',
  async (t) => {
    const server = await listen(t, operations, {
      limits: { ...quick.limits, admission: 10_000, paceWindow: NEVER, slowUpload: 200 },
      bodyMemory: 8 * MIB,
      trustProxy: true,
    });
    const from = (client: string) => `X-Forwarded-For: ${client}\r\n`;
    // Of 7 MiB for bodies in memory, an eighth is for small ones.
    const form = await open(t, server);
    form.send(post('/upload', 6.125 * MIB, from('10.0.0.1')));
    form.send(Buffer.alloc(4 * MIB));
    const small: RawConnection[] = [];
    for (let n = 0; n < 7; n++) {
      const connection = await open(t, server);
      connection.send(post('/upload', 128 * 1024, from('10.0.0.2')));
      connection.send(Buffer.alloc(n * 1_000 + 1));
      small.push(connection);
    }
    while (server.bodies.used < 7 * MIB) await delay(5);
    const note = await open(t, server);
    note.send(`${post('/upload', 5, from('10.0.0.3'))}hello`);
    t.equal((await note.response()).body.toString(), '5');
    const { status, body } = await small[0]!.response();
    t.match({ status, code: JSON.parse(body.toString()).code }, { status: 408, code: 'timeout' });
    await small[0]!.closed;
    for (const [n, connection] of small.slice(1).entries()) {
      connection.send(Buffer.alloc(128 * 1024 - (n + 1) * 1_000 - 1));
      t.equal((await connection.response()).body.toString(), String(128 * 1024), `${n + 1}`);
    }
    form.send(Buffer.alloc(2.125 * MIB));
    t.equal((await form.response()).body.toString(), String(6.125 * MIB));
  },
);

t.test('a slow upload keeps its memory as long as nobody else waits for it', async (t) => {
  const server = await listen(t, operations, {
    limits: { ...quick.limits, admission: 500, paceWindow: NEVER, slowUpload: 1 },
    bodyMemory: 8 * MIB,
    trustProxy: true,
  });
  const slow = await open(t, server);
  slow.send(`${post('/upload', 6 * MIB, 'X-Forwarded-For: 10.0.0.1\r\n')}a`);
  while (server.bodies.used < 6 * MIB) await delay(5);
  const own = await open(t, server);
  own.send(`${post('/upload', 5, 'X-Forwarded-For: 10.0.0.1\r\n')}hello`);
  t.equal((await own.response()).status, 503, 'its client has its share');
  slow.send(Buffer.alloc(6 * MIB - 1));
  t.equal((await slow.response()).body.toString(), String(6 * MIB));
});

t.test('a body that stalls is refused, one that moves is not', async (t) => {
  const server = await listen(t, operations, { limits: { ...quick.limits, paceWindow: 10_000 } });
  const stalled = await open(t, server);
  stalled.send(post('/upload', 5_000));
  stalled.send('a');
  const moving = await open(t, server);
  moving.send(post('/upload', 110_000));
  for (let i = 0; i < 110; i++) {
    moving.send(Buffer.alloc(1_000));
    await delay(100);
  }
  t.equal((await moving.response()).body.toString(), '110000');
  const { status, headers, body } = await stalled.response();
  t.equal(status, 408);
  t.equal(headers.connection, 'close', 'the rest might never come');
  t.equal(JSON.parse(body.toString()).code, 'timeout');
  await stalled.closed;
  t.equal(server.bodies.used, 0);
});

t.test('a phone on 8 KB/s may post for longer than the binding waits', async (t) => {
  const server = await listen(t, operations);
  const phone = await open(t, server);
  phone.send(post('/upload', 14 * 8_192));
  for (let i = 0; i < 14; i++) {
    phone.send(Buffer.alloc(8_192));
    await delay(1_000);
  }
  t.equal((await phone.response()).body.toString(), String(14 * 8_192));
});

t.test('an answer may take longer than the binding waits', async (t) => {
  const server = await listen(t, operations);
  const patient = await open(t, server);
  patient.send(`${post('/after/13000', 2)}hi`);
  t.equal((await patient.response()).body.toString(), '2');
});

for (const path of ['/slow-producer/chunked', '/slow-producer/sized'])
  t.test(`${path}: a client that waits for the producer is kept`, async (t) => {
    const server = await listen(t, operations, quick);
    t.equal(await (await fetch(`http://127.0.0.1:${server.port}${path}`)).text(), 'ab');
  });

for (const path of ['/big', '/big-stream']) {
  t.test(`${path}: a reader that takes nothing is cut off`, async (t) => {
    const over = Promise.withResolvers<Outcome>();
    const server = await listen(t, operations, { ...quick, observe: over.resolve });
    const stalled = await open(t, server);
    stalled.socket.pause();
    stalled.send(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
    // What the kernel holds is delivered when the reader wakes up; the end of it shows that it was cut off.
    t.equal((await over.promise).status, 499);
    stalled.socket.resume();
    await t.rejects(stalled.response());
  });

  t.test(`${path}: a slow reader is kept while it moves`, async (t) => {
    const server = await listen(t, operations, { limits: { ...quick.limits, stalledReader: 8_000 } });
    const slow = await open(t, server);
    slow.send(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
    for (let i = 0; i < 40; i++) {
      slow.socket.pause();
      await delay(250);
      slow.socket.resume();
      await delay(2);
    }
    const { body } = await slow.response();
    t.ok(body.equals(BIG), 'all of it');
  });
}

t.test(
  'slow readers give way if they hold too much: first what one client has held for longest',
  async (t) => {
    const outcomes: Outcome[] = [];
    const server = await listen(t, operations, {
      limits: { ...quick.limits, stalledReader: NEVER },
      answerMemory: 3 * BIG.length,
      observe: (outcome) => outcomes.push(outcome),
    });
    const stalled = async (path: string, client?: string) => {
      const connection = await RawConnection.open(server.port, client);
      t.teardown(() => connection.close());
      const before = server.openRequests + outcomes.length;
      connection.socket.pause();
      connection.send(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
      while (server.openRequests + outcomes.length === before) await delay(5);
      return connection;
    };
    const modest = await stalled('/own/0', '127.0.0.2');
    const shared = await Promise.all(Array.from({ length: 3 }, () => stalled('/big')));
    t.same(outcomes, [], 'an answer of several readers counts once');
    const greedy = [await stalled('/own/1'), await stalled('/own/2'), await stalled('/own/3')];
    while (outcomes.length < 4) await delay(5);
    t.match(outcomes, Array(4).fill({ status: 503, code: 'busy' }), 'three of one answer, and one');
    for (const connection of [...shared, greedy[0]!]) {
      connection.socket.resume();
      await t.rejects(connection.response());
    }
    for (const [n, connection] of [modest, greedy[1]!, greedy[2]!].entries()) {
      connection.socket.resume();
      t.equal((await connection.response()).body.length, BIG.length, `${n}`);
    }
  },
);

t.test(
  'a slow reader of an answer without a length gets all of it, and little of it waits in memory',
  async (t) => {
    const chunk = randomBytes(4 * MIB);
    const twice = Buffer.concat([chunk, chunk]);
    const chunks = 24;
    let read = 0;
    let taken = 0;
    const drip: Operation = {
      id: 'drip',
      method: 'GET',
      path: '/drip',
      handle: () => ({
        status: 200,
        headers: TEXT,
        body: {
          chunks: (async function* () {
            for (; read < chunks * chunk.length; read += chunk.length) yield chunk;
          })(),
        },
      }),
    };
    const server = await listen(t, [drip]);
    const response = await new Promise<IncomingMessage>((resolve) =>
      get(`http://127.0.0.1:${server.port}/drip`, resolve),
    );
    let most = 0;
    for await (const piece of response as AsyncIterable<Buffer>) {
      const at = taken % chunk.length;
      const isSent = piece.equals(twice.subarray(at, at + piece.length));
      if (!isSent) t.fail(`other bytes than were sent at ${taken}`);
      taken += piece.length;
      most = Math.max(most, read - taken);
      await delay(1);
    }
    t.equal(taken, chunks * chunk.length);
    t.ok(most < 24 * MIB, `${most / MIB} MiB waited, with what the system holds`);
  },
);

t.test('a thousand connections that never finish their headers keep nobody out and are closed', async (t) => {
  const server = await listen(t, operations);
  const loris = await Promise.all(Array.from({ length: 1_000 }, () => open(t, server)));
  for (const connection of loris) connection.send(`GET / HTTP/1.1\r\n${HOST}X-Slow: `);
  const dripping = setInterval(() => {
    for (const connection of loris) if (!connection.isClosed) connection.send('a');
  }, 1_000);
  t.teardown(() => clearInterval(dripping));
  const visitor = await open(t, server);
  for (let i = 0; i < 50; i++) {
    visitor.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    t.equal((await visitor.response()).status, 200);
  }
  await Promise.all(loris.map((connection) => connection.closed));
  t.pass('all closed');
});

t.test('the stop lets running requests finish and takes no new connections', async (t) => {
  const begun = Promise.withResolvers<void>();
  const held: Operation = {
    id: 'held',
    method: 'POST',
    path: '/held',
    handle: async (exchange) => {
      begun.resolve();
      return text(200, String((await exchange.body(MIB)).length));
    },
  };
  const server = await listen(t, [...operations, held], { limits: { stop: NEVER, paceWindow: NEVER } });
  const { port } = server;
  const running = await open(t, server);
  running.send(post('/held', 2));
  await begun.promise;
  const idle = await open(t, server);
  idle.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  await idle.response();
  const stopped = server.stop();
  await t.rejects(RawConnection.open(port));
  idle.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  t.equal((await idle.response()).headers.connection, 'close', 'kept connections are told to go elsewhere');
  running.send('hi');
  t.equal((await running.response()).body.toString(), '2');
  await stopped;
  await Promise.all([running.closed, idle.closed]);
});

t.test('the stop does not wait for ever', async (t) => {
  const server = await listen(t, operations, { limits: { ...quick.limits, stop: 200 } });
  const endless = await open(t, server);
  endless.send(post('/after/60000', 2));
  await delay(50);
  await server.stop();
  await endless.closed;
  t.pass('closed');
});
