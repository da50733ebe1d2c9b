/**
 * Sends random frames over raw sockets to the real process: requests that hide or misstate their length, odd chunks,
 * trailers, in random pieces. A request written inside a body must never be done, and one outside at most once.
 * `FUZZ_SECONDS=600` runs it for ten minutes, `FUZZ_SEED` repeats a run.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { holdsFor } from '../support/fuzz/holds-for.ts';
import { ServiceProcess } from '../support/service-process.ts';

const SECONDS = Number(process.env.FUZZ_SECONDS ?? 12);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const CLIENTS = 16;
const PROBE_MS = 5;
const SLOW_MS = 50;
/** No request is longer, so a connection without an answer for that time gets none. */
const SILENCE_MS = 150;
const HOST = 'Host: test\r\n';

/** A whole request that stores `text` in a feed. */
function note(feed: string, text: string): string {
  return `POST /${feed} HTTP/1.1\r\n${HOST}Content-Type: text/markdown\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}

/** Stored only if a body is taken for requests. */
const INSIDE = note('inside', 'from within a body');
const filler = fc.string({ maxLength: 40, unit: 'binary-ascii' });
const field = fc.constantFrom(
  '',
  'X-A: b\r\n',
  'Expect: 100-continue\r\n',
  'Connection: keep-alive\r\n',
  'TE: trailers\r\n',
);
const writing = fc.constantFrom(
  'POST /other',
  'POST /',
  'PUT /api/v1/feeds/other/notes',
  'DELETE /other/x',
  'PATCH /other',
  'ODD /',
);
const any = fc.oneof(writing, fc.constantFrom('GET /', 'GET /health', 'HEAD /', 'OPTIONS /r/other'));
const body = fc.tuple(filler, filler).map(([before, after]) => `${before}\r\n${INSIDE}${after}`);
const hex = (text: string) => text.length.toString(16);

/** Frames after which the service may take nothing for a request but what follows the frame, if anything. */
const frame = fc.oneof(
  fc
    .tuple(any, field, body)
    .map(
      ([head, more, text]) =>
        `${head} HTTP/1.1\r\n${HOST}${more}Content-Length: ${text.length}\r\n\r\n${text}`,
    ),
  fc
    .tuple(writing, field, body)
    .map(
      ([head, more, text]) =>
        `${head} HTTP/1.1\r\n${HOST}${more}: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    ),
  fc
    .tuple(writing, field)
    .map(
      ([head, more]) =>
        `${head} HTTP/1.1\r\n${HOST}${more}: x\r\nTransfer-Encoding: chunked\r\n\r\n${hex(INSIDE)}\r\n${INSIDE}\r\n0\r\n\r\n`,
    ),
  fc
    .tuple(any, field, body, fc.constantFrom('', ';a', ';a=b', ';"', ' ', 'G', '\t;x'))
    .map(
      ([head, more, text, odd]) =>
        `${head} HTTP/1.1\r\n${HOST}${more}Transfer-Encoding: chunked\r\n\r\n${hex(text)}${odd}\r\n${text}\r\n0\r\n\r\n`,
    ),
  fc
    .tuple(writing, field, fc.constantFrom('\r\n', 'XX', '\n', '', 'X-T: 1\r\n\r\n', 'ab'))
    .map(
      ([head, more, end]) =>
        `${head} HTTP/1.1\r\n${HOST}${more}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n${end}${INSIDE}`,
    ),
  fc
    .tuple(
      any,
      fc.constantFrom(
        'Content-Length: 3\r\nContent-Length: 5',
        'Content-Length: +3',
        'Content-Length: 3, 3',
        'Transfer-Encoding: gzip, chunked',
        'Transfer-Encoding: identity',
        'Content-Length: 3\r\nTransfer-Encoding: chunked',
        'Content-Length : 3',
      ),
    )
    .map(([head, lengths]) => `${head} HTTP/1.1\r\n${HOST}${lengths}\r\n\r\nabc${INSIDE}`),
  fc
    .tuple(any, fc.constantFrom('X-A: b\nX-B: c', 'X-A: a\r\n b', 'noColon', 'X\0: a', 'X: a\rb'))
    .map(
      ([head, lines]) =>
        `${head} HTTP/1.1\r\n${HOST}${lines}\r\nContent-Length: ${INSIDE.length}\r\n\r\n${INSIDE}`,
    ),
);

interface Frames {
  readonly frames: readonly string[];
  /** Flips a bit of a byte, at a share of the whole; then nothing is said of what is inside. */
  readonly spoil: number | undefined;
  /** Where the bytes are cut into pieces, as shares of the whole. */
  readonly cuts: readonly number[];
}

const share = fc.nat(999).map((thousandths) => thousandths / 1000);
const frames: fc.Arbitrary<Frames> = fc.record({
  frames: fc.array(frame, { minLength: 1, maxLength: 3 }),
  spoil: fc.option(share, { nil: undefined, freq: 3 }),
  cuts: fc.array(share, { maxLength: 4 }),
});

t.setTimeout((SECONDS + 300) * 1000);

t.test('no frame hides a request', async (t) => {
  const service = await ServiceProcess.start(t, { env: { SERVICE_LOG_REQUESTS: '0' } });
  const probe = new Probe(service.url);
  const probing = probe.run();
  let sent = 0;
  const check = async (batch: readonly Frames[]) => {
    await Promise.all(
      batch.map(async (one) => {
        // Neither a changed bit nor a shorter length may turn it into the text of another connection.
        const text = `${randomUUID()} outside`;
        await send(service.port, bytesOf(one, text), one.cuts);
      }),
    );
    sent += batch.length;
    if (!service.isRunning) throw new Error(`the service has ended: ${service.errors}`);
    const inside = await textsOf(service.url, 'inside');
    if (inside.length > 0) throw new Error('a request within a body was done');
    const outside = await textsOf(service.url, 'outside');
    if (new Set(outside).size < outside.length) throw new Error('a request was done twice');
    if (outside.length > 0) await fetch(`${service.url}/api/v1/feeds/outside`, { method: 'DELETE' });
  };
  const batches = fc.array(frames, { minLength: CLIENTS, maxLength: CLIENTS });
  await holdsFor(SECONDS, batches, check, { seed: SEED, endOnFailure: true });
  probe.isOver = true;
  await probing;
  t.comment(`seed ${SEED}, ${sent} connections; /health: ${probe.summary()}`);
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null }, 'it stops as it should');
});

/** The frames and a whole request; spoiled frames have none inside. */
function bytesOf({ frames, spoil }: Frames, text: string): Buffer {
  const all = frames.join('');
  const bytes = Buffer.from(
    `${spoil === undefined ? all : all.replaceAll('/inside', '/spoilt')}${note('outside', text)}`,
    'latin1',
  );
  if (spoil !== undefined)
    bytes[Math.min(bytes.length - 1, Math.floor(spoil * bytes.length))]! ^= 1 << randomInt(8);
  return bytes;
}

/** Sends bytes in pieces, and closes after the end of the answers or a silence. */
async function send(port: number, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => {}));
  socket.resume();
  const ends = [...cuts.map((cut) => Math.floor(cut * bytes.length)), bytes.length].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    if (end > start) socket.write(bytes.subarray(start, end));
    start = end;
    await delay(1);
  }
  const timer = setTimeout(() => socket.destroy(), SILENCE_MS);
  await closed;
  clearTimeout(timer);
}

async function textsOf(url: string, feed: string): Promise<string[]> {
  const answer = await fetch(`${url}/api/v1/feeds/${feed}/notes`);
  const { notes } = (await answer.json()) as { notes: { content: string }[] };
  return notes.map(({ content }) => content);
}

/** How long `/health` takes meanwhile, with the delays of this process. */
class Probe {
  isOver = false;
  readonly #url: string;
  #asked = 0;
  #slow = 0;
  #slowest = 0;

  constructor(url: string) {
    this.#url = url;
  }

  async run(): Promise<void> {
    while (!this.isOver) {
      const start = performance.now();
      await (await fetch(`${this.#url}/health`)).arrayBuffer();
      const ms = performance.now() - start;
      this.#asked++;
      if (ms > SLOW_MS) this.#slow++;
      this.#slowest = Math.max(this.#slowest, ms);
      await delay(PROBE_MS);
    }
  }

  summary(): string {
    return `${this.#asked} answers, ${this.#slow} above ${SLOW_MS} ms, slowest ${this.#slowest.toFixed(1)} ms`;
  }
}
