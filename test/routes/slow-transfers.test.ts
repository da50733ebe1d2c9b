/** Zips that come and go slowly keep nobody from importing and exporting, and are kept while nobody else needs their places. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection, type RawResponse } from '../support/raw-connection.ts';
import { ask, start, type TestService } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

const MIB = 1024 * 1024;
const ZIP = zipOf([{ name: 'a.md' }]);
const BIG = zipOf([{ name: 'b.md' }, { name: 'c.txt', bytes: Buffer.alloc(64 * MIB), method: 0 }]);
const GAVE_WAY = { status: 408, code: 'timeout', error: /somebody else needs the place/ };
const [SLOW, FAST, OTHER, NEW] = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];

/**
 * By how much the clock is put forward at once, in ms, and the bytes of an upload for each time: so that an upload is slow, but
 * none is ended for that alone.
 */
const [STEP, SENT] = [25_000, 64 * 1024];
/** The same for readers, who take up to 64 KiB each time. */
const READING_STEP = 2_000;
/** How often the readers may read before all have slowed down: what the system holds for them counts at first. */
const MAX_READINGS = 400;

/** Puts forward the clock of the service, which runs in the process of the test. */
function clock(t: Test): (ms: number) => void {
  const now = performance.now.bind(performance);
  let ahead = 0;
  t.intercept(performance, 'now', { value: () => now() + ahead });
  return (ms) => {
    ahead += ms;
  };
}

/** An import that is sent piece by piece. */
class Upload {
  readonly #connection: RawConnection;
  #rest: Buffer;

  private constructor(connection: RawConnection, zip: Buffer) {
    this.#connection = connection;
    this.#rest = zip;
  }

  static async begin(t: Test, { port }: TestService, client: string, zip: Buffer): Promise<Upload> {
    const connection = await RawConnection.open(port, client);
    t.teardown(() => connection.close());
    connection.send(
      'POST /api/v1/feeds/marten/import HTTP/1.1\r\nHost: x\r\nContent-Type: application/zip\r\n',
    );
    connection.send(`Content-Length: ${zip.length}\r\n\r\n`);
    return new Upload(connection, zip);
  }

  /** Settles when the system has taken the bytes. */
  async send(bytes: number): Promise<void> {
    const piece = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    await new Promise((resolve) => this.#connection.socket.write(piece, resolve));
  }

  /** Sends the rest. */
  async answer(): Promise<RawResponse> {
    this.#connection.send(this.#rest);
    return this.#connection.response();
  }

  /** The answer to what was sent so far. */
  async refusal(): Promise<Record<string, unknown>> {
    const { status, body } = await this.#connection.response();
    await this.#connection.closed;
    return { status, ...JSON.parse(body.toString()) };
  }
}

/** The status of a whole import. */
async function statusFor(t: Test, service: TestService, client: string): Promise<number> {
  return (await (await Upload.begin(t, service, client, ZIP)).answer()).status;
}

t.test('a slow import gives way to another, and one that is fast enough does not', async (t) => {
  const service = await start(t);
  const forward = clock(t);
  const slow = await Upload.begin(t, service, SLOW, BIG);
  const fast = await Upload.begin(t, service, FAST, BIG);
  await fast.send(40 * MIB);
  t.ok(await eventually(async () => (await statusFor(t, service, OTHER)) === 503), 'no place is left');
  const hasPlace = await eventually(async () => {
    await Promise.all([slow.send(SENT), fast.send(SENT)]);
    forward(STEP);
    return (await statusFor(t, service, OTHER)) === 200;
  });
  t.ok(hasPlace);
  t.match(await slow.refusal(), GAVE_WAY);

  const next = await Upload.begin(t, service, OTHER, BIG);
  t.ok(await eventually(async () => (await statusFor(t, service, NEW)) === 503));
  for (let step = 0; step < 4; step += 1) {
    await Promise.all([next.send(SENT), fast.send(SENT)]);
    forward(STEP);
    t.equal(await statusFor(t, service, SLOW), 503, 'who gave way does not make others give way');
  }
  t.equal(await statusFor(t, service, NEW), 200);
  t.match(await next.refusal(), GAVE_WAY);
  t.equal((await fast.answer()).status, 200);
});

t.test(
  'a slow import is kept while nobody else needs its place, also if its client begins another',
  async (t) => {
    const service = await start(t);
    const forward = clock(t);
    const slow = await Upload.begin(t, service, SLOW, BIG);
    t.ok(await eventually(async () => (await statusFor(t, service, SLOW)) === 503), 'it runs');
    for (let step = 0; step < 8; step += 1) {
      await slow.send(SENT);
      forward(STEP);
      t.equal(await statusFor(t, service, OTHER), 200, 'there is another place');
    }
    t.equal(await statusFor(t, service, SLOW), 503);
    t.equal((await slow.answer()).status, 200);
  },
);

t.test('slow readers of exports give way to others, one for each', async (t) => {
  const service = await start(t);
  const forward = clock(t);
  const marten = new FeedClient(service.url, 'marten');
  for (let seed = 0; seed < 40; seed += 1)
    await marten.post(picture('gif', MIB, seed), { 'content-type': 'image/gif' });
  const path = '/api/v1/feeds/marten/export';
  const readers: RawConnection[] = [];
  for (const client of [SLOW, SLOW, FAST, FAST]) {
    const reader = await RawConnection.open(service.port, client);
    t.teardown(() => reader.close());
    reader.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await readPiece(reader);
    readers.push(reader);
  }
  let other = await ask(`${service.url}${path}`);
  t.equal(other.status, 503, 'no place is left');
  for (let n = 0; other.status === 503 && n < MAX_READINGS; n += 1) {
    for (const reader of readers) await readPiece(reader);
    // So that it is the service that waits, and not the reader.
    await delay(30);
    forward(READING_STEP);
    other = await ask(`${service.url}${path}`);
  }
  t.equal(other.status, 200);
  const { length } = other.bytes;
  t.ok(length > 40 * MIB);
  const lengths = readers.map(async (reader) => {
    reader.socket.resume();
    const answer = await reader.response().catch(() => undefined);
    return answer?.body.length;
  });
  t.same((await Promise.all(lengths)).sort(), [length, length, length, undefined], 'one was broken off');
});

/** Reads the next piece of an answer, and then no more. */
async function readPiece({ socket }: RawConnection): Promise<void> {
  socket.resume();
  await once(socket, 'data');
  socket.pause();
}
