/** Bodies that are read piece by piece. */
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import t from 'tap';
import { BodyMemory } from '../../src/http/body-memory.ts';
import { BufferPool } from '../../src/http/buffers.ts';
import type { Exchange, Operation } from '../../src/http/exchange.ts';
import { Upload } from '../../src/http/upload.ts';
import type { HttpResponse } from '../../src/http/uws.ts';
import { eventually, settled } from '../support/eventually.ts';
import { listen, text } from '../support/http-server.ts';
import { ask } from '../support/service.ts';

const MIB = 1024 * 1024;
const BODY = randomBytes(48 * MIB);

async function hashOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

function post(path: string, handle: (exchange: Exchange) => Promise<string>): Operation {
  return { id: path, method: 'POST', path, handle: async (exchange) => text(200, await handle(exchange)) };
}

t.test('a client waits while its body is not read, in bounded memory, and all of it arrives', async (t) => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  let received = 0;
  const server = await listen(t, [
    post('/held', async (exchange) => {
      const pieces = exchange.pieces(64 * MIB);
      const first = await pieces.next();
      const hash = createHash('sha256').update(first.value!);
      received = exchange.upload!.received;
      const timer = setInterval(() => (received = exchange.upload!.received), 5);
      await opened;
      clearInterval(timer);
      for await (const piece of pieces) hash.update(piece);
      return hash.digest('hex');
    }),
  ]);
  const url = `http://127.0.0.1:${server.port}/held`;
  const answer = ask(url, { method: 'POST', body: BODY });
  t.ok(await eventually(() => received > 0));
  await settled(async () => received);
  t.ok(received < 8 * MIB, `${received} bytes were taken`);
  t.ok(server.bodies.used > 0 && server.bodies.used < 8 * MIB, 'they count as memory of bodies');
  open();
  t.equal((await answer).text, createHash('sha256').update(BODY).digest('hex'));
  t.equal(server.bodies.used, 0);
});

t.test('a body is refused when it is too large, slow, or ends', async (t) => {
  const operations = [post('/', (exchange) => hashOf(exchange.pieces(MIB)))];
  const server = await listen(t, operations, { limits: { paceWindow: 300, tick: 20 } });
  const url = `http://127.0.0.1:${server.port}/`;
  t.equal((await ask(url, { method: 'POST', body: BODY.subarray(0, MIB) })).status, 200);
  t.equal((await ask(url, { method: 'POST', body: '' })).status, 200);
  t.equal((await ask(url, { method: 'POST', body: BODY.subarray(0, MIB + 1) })).status, 413);
  const chunked = new ReadableStream({
    pull(controller) {
      controller.enqueue(BODY.subarray(0, 700_000));
    },
  });
  const init = { method: 'POST', body: chunked, duplex: 'half' } as RequestInit;
  t.equal((await ask(url, init).catch(() => ({ status: 413 }))).status, 413);
  const slow = connect(server.port, '127.0.0.1');
  slow.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx');
  const [head] = await new Promise<string[]>((resolve) =>
    slow.on('data', (data) => resolve(data.toString().split('\r\n'))),
  );
  t.match(head, '408');
  slow.destroy();
  const gone = connect(server.port, '127.0.0.1');
  gone.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx');
  t.ok(await eventually(() => server.bodies.used > 0));
  gone.destroy();
  t.ok(await eventually(() => server.bodies.used === 0 && server.openRequests === 0), 'nothing is held');
});

t.test('bytes that came before a client had to wait count no more once it may go on', async (t) => {
  let arrive = (_: ArrayBuffer, _isLast: boolean) => {};
  const socket = { onData: (listener: typeof arrive) => (arrive = listener), pause() {}, resume() {} };
  const context = {
    memory: new BodyMemory({ total: 64 * MIB, maxWaitMs: 1_000 }),
    buffers: new BufferPool(MIB),
    pace: { windowMs: 1_000, graceMs: 1_000, bytesPerSecond: 1_000 },
  };
  const upload = new Upload(socket as unknown as HttpResponse, 8 * MIB, 'client', context);
  const pieces = upload.stream(8 * MIB);
  const piece = pieces.next();
  arrive(new ArrayBuffer(2 * MIB), false);
  const now = performance.now();
  upload.checkPace(now + 10_000);
  t.equal((await piece).value?.length, 2 * MIB);
  const next = pieces.next();
  upload.checkPace(now + 20_000);
  await t.rejects(next, { code: 'timeout' });
});
