/** Answers that stay open, through the front end. Subtests run side by side: some wait for the clock. */
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { LiveStream } from '../../src/http/answer.ts';
import type { Operation, Outcome } from '../../src/http/exchange.ts';
import { headers } from '../../src/http/headers.ts';
import type { HttpServer, ServerOptions } from '../../src/http/server.ts';
import { IN_SOAK } from '../support/effort.ts';
import { eventually } from '../support/eventually.ts';
import { listen } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

t.jobs = 12;
t.setTimeout(600_000);

const MIB = 1024 * 1024;
const NEVER = 3_600_000;
const START = Buffer.from('start\n');
const REQUEST = 'GET /live HTTP/1.1\r\nHost: test\r\n\r\n';

/** A front end whose one operation is a live answer. */
class Live {
  readonly streams: LiveStream[] = [];
  readonly outcomes: Outcome[] = [];
  asked = 0;
  closed = 0;
  server!: HttpServer;

  static async start(t: Test, options: Partial<ServerOptions> = {}, wait = 0): Promise<Live> {
    const live = new Live();
    const body = {
      heartbeat: Buffer.from('beat\n'),
      open: (stream: LiveStream) => {
        live.streams.push(stream);
        stream.send(START);
        return {
          closed: () => {
            live.closed += 1;
          },
        };
      },
    };
    const answer = { status: 200, headers: headers({ 'Content-Type': 'text/plain' }), body };
    const operation: Operation = {
      id: 'live',
      method: 'GET',
      path: '/live',
      handle: () => {
        live.asked += 1;
        return wait === 0 ? answer : delay(wait).then(() => answer);
      },
    };
    live.server = await listen(t, [operation], { observe: (one) => live.outcomes.push(one), ...options });
    return live;
  }
}

/** The pieces of a chunked answer as they come. */
class Reader {
  readonly connection: RawConnection;
  text = '';

  private constructor(connection: RawConnection) {
    this.connection = connection;
    connection.socket.on('data', (data) => {
      this.text += data.toString('latin1');
    });
  }

  static async open(t: Test, { server }: Live, request = REQUEST): Promise<Reader> {
    const connection = await RawConnection.open(server.port);
    t.teardown(() => connection.close());
    const reader = new Reader(connection);
    connection.send(request);
    return reader;
  }

  async has(text: string): Promise<boolean> {
    return eventually(() => this.text.includes(text));
  }
}

t.test('what is sent arrives at once, and the end of it', async (t) => {
  const live = await Live.start(t);
  const reader = await Reader.open(t, live);
  t.ok(await reader.has('start'));
  t.match(reader.text, /^HTTP\/1.1 200 OK\r\n.*Transfer-Encoding: chunked/is);
  t.equal(live.server.openStreams, 1);
  live.streams[0]!.send(Buffer.from('one\n'));
  t.ok(await reader.has('one'));
  t.same(live.outcomes, [], 'it has not ended');
  live.streams[0]!.end();
  t.ok(await reader.has('\r\n0\r\n\r\n'));
  t.match(live.outcomes, [{ status: 200, isLive: true, operation: { id: 'live' } }]);
  t.match(live.outcomes[0]!.request.requestId, /^[0-9a-f]{16}$/);
  t.equal(live.closed, 1);
  t.equal(live.server.openStreams, 0);
  live.streams[0]!.send(START);
  live.streams[0]!.end();
  t.equal(live.closed, 1, 'an ended stream takes nothing more');
  reader.connection.send(REQUEST);
  t.ok(await eventually(() => live.streams.length === 2), 'the connection is used again');
});

t.test('HEAD is answered with headers only', async (t) => {
  const live = await Live.start(t);
  const connection = await RawConnection.open(live.server.port);
  t.teardown(() => connection.close());
  connection.send(REQUEST.replace('GET', 'HEAD'));
  const { status, headers } = await connection.response(true);
  t.equal(status, 200);
  t.equal(headers['content-type'], 'text/plain');
  t.same(live.streams, []);
  t.match(live.outcomes, [{ status: 200, isLive: false }]);
});

t.test('a client that leaves is forgotten', async (t) => {
  const live = await Live.start(t);
  const reader = await Reader.open(t, live);
  await reader.has('start');
  reader.connection.close();
  t.ok(await eventually(() => live.closed === 1));
  t.equal(live.server.openStreams, 0);
  t.ok(live.streams[0]!.isClosed);
  t.match(live.outcomes, [{ status: 200, isLive: true }]);
});

t.test('a quiet stream has a heartbeat', async (t) => {
  const live = await Live.start(t, { limits: { heartbeat: 200, tick: 20 } });
  const reader = await Reader.open(t, live);
  t.ok(await eventually(() => reader.text.split('beat').length > 3));
});

t.test('a stop ends streams at once, also one that was about to begin', async (t) => {
  const live = await Live.start(t, { limits: { stop: NEVER } });
  const late = await Live.start(t, { limits: { stop: NEVER } }, 300);
  const reader = await Reader.open(t, live);
  const waiting = await Reader.open(t, late);
  await reader.has('start');
  t.ok(await eventually(() => late.asked === 1));
  await Promise.all([live.server.stop(), late.server.stop()]);
  await Promise.all([reader.connection.closed, waiting.connection.closed]);
  t.ok(reader.text.endsWith('start\n\r\n0\r\n\r\n'), 'the chunks are whole');
  t.ok(waiting.text.endsWith('start\n\r\n0\r\n\r\n'));
  t.equal(live.closed + late.closed, 2);
});

t.test('a slow reader gets the newest event, not all', async (t) => {
  const live = await Live.start(t, { limits: { heartbeat: NEVER } });
  const reader = await Reader.open(t, live);
  await reader.has('start');
  reader.connection.socket.pause();
  const stream = live.streams[0]!;
  // More than the kernel holds.
  for (let i = 0; i < 60; i += 1) {
    stream.send(Buffer.concat([Buffer.from(`event ${i} `), Buffer.alloc(MIB, 'x')]));
    await delay(1);
  }
  reader.connection.socket.resume();
  t.ok(await reader.has('event 59 '));
  const got = reader.text.match(/event \d+ /g)!;
  t.ok(got.length < 40, `${got.length} of 60 events`);
  stream.send(Buffer.from('after'));
  t.ok(await reader.has('after'), 'and then all that comes');
});

t.test('what the socket did not take is not left lying when nothing more comes', async (t) => {
  const live = await Live.start(t, { limits: { heartbeat: NEVER } });
  const reader = await Reader.open(t, live);
  await reader.has('start');
  reader.connection.socket.pause();
  live.streams[0]!.send(Buffer.concat([Buffer.alloc(20 * MIB, 'x'), Buffer.from('the last of it')]));
  await delay(100);
  reader.connection.socket.resume();
  t.ok(await reader.has('the last of it'));
});

t.test('what a slow reader still waits for comes before the end', async (t) => {
  const live = await Live.start(t, { limits: { heartbeat: NEVER } });
  const reader = await Reader.open(t, live);
  await reader.has('start');
  reader.connection.socket.pause();
  const [stream] = live.streams;
  stream!.send(Buffer.alloc(20 * MIB));
  t.notOk(stream!.isReady);
  stream!.send(Buffer.from('the last of it'));
  stream!.end();
  reader.connection.socket.resume();
  t.ok(await eventually(() => reader.text.endsWith('the last of it\r\n0\r\n\r\n')));
});

t.test('a source that ends its stream at once is told of the end', async (t) => {
  let closed = 0;
  const open = (stream: LiveStream) => {
    stream.send(START);
    stream.end();
    return { closed: () => (closed += 1) };
  };
  const answer = { status: 200, headers: headers({}), body: { heartbeat: START, open } };
  const server = await listen(t, [{ id: 'live', method: 'GET', path: '/live', handle: () => answer }]);
  const connection = await RawConnection.open(server.port);
  t.teardown(() => connection.close());
  connection.send(REQUEST);
  t.equal((await connection.response()).body.toString(), START.toString());
  t.equal(closed, 1);
  t.equal(server.openStreams, 0);
});

t.test('a reader that takes nothing is closed', async (t) => {
  const live = await Live.start(t, { limits: { stalledReader: 500, tick: 50 } });
  const reader = await Reader.open(t, live);
  await reader.has('start');
  reader.connection.socket.pause();
  live.streams[0]!.send(Buffer.alloc(20 * MIB));
  t.ok(await eventually(() => live.closed === 1));
  reader.connection.socket.resume();
  await reader.connection.closed;
});

for (const [what, wait] of [
  ['', 0],
  [', also after a long time until it began', 4_500],
] as const)
  t.test(
    `a stream outlasts the time that the binding gives idle connections${what}`,
    wait === 0 ? {} : IN_SOAK,
    async (t) => {
      const live = await Live.start(t, { limits: { heartbeat: NEVER } }, wait);
      const reader = await Reader.open(t, live);
      t.ok(await reader.has('start'));
      await delay(13_000);
      t.equal(live.closed, 0);
      live.streams[0]!.send(Buffer.from('still here'));
      t.ok(await reader.has('still here'));
    },
  );

t.test('so does one whose reader was slow for a while', IN_SOAK, async (t) => {
  const live = await Live.start(t, { limits: { heartbeat: NEVER } });
  const reader = await Reader.open(t, live);
  await reader.has('start');
  reader.connection.socket.pause();
  live.streams[0]!.send(Buffer.concat([Buffer.alloc(20 * MIB), Buffer.from('large')]));
  await delay(13_000);
  t.equal(live.closed, 0);
  reader.connection.socket.resume();
  t.ok(await reader.has('large'));
  await delay(13_000);
  live.streams[0]!.send(Buffer.from('still here'));
  t.ok(await reader.has('still here'));
});
