/**
 * Sends header fields that are repeated, empty, in any case and of any bytes, and compares what the service makes of them
 * with RFC 9110 §5.3. `FUZZ_SECONDS=600` runs it for ten minutes, `FUZZ_SEED` repeats a run.
 */
import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Exchange, Operation } from '../../src/http/exchange.ts';
import {
  type FieldLine,
  fieldValue,
  linesOf,
  NAMES,
  valuesOf,
  wireLines,
} from '../support/fuzz/field-lines.ts';
import { holdsFor } from '../support/fuzz/holds-for.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection, type RawResponse } from '../support/raw-connection.ts';
import { ask, post, start } from '../support/service.ts';

const SECONDS = Number(process.env.FUZZ_SECONDS ?? 6);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const { constantFrom } = fc;

t.setTimeout((3 * SECONDS + 300) * 1000);

/** Checks a property for `SECONDS`, and says how long the event loop was held at most, by service and client together. */
async function fuzz<T>(t: Test, values: fc.Arbitrary<T>, check: (value: T) => Promise<void>): Promise<void> {
  let requests = 0;
  const loop = watchLoop();
  const counted = (value: T) => {
    requests += 1;
    return check(value);
  };
  await holdsFor(SECONDS, values, counted, { seed: SEED });
  t.comment(`seed ${SEED}, ${requests} requests, longest turn ${Math.round(loop.stop())} ms of CPU`);
  t.ok(requests > 10);
}

/** Measures the most CPU time that the event loop takes from one look of a timer to the next, which includes 5 ms of other turns. */
function watchLoop() {
  const now = () => process.threadCpuUsage().user / 1000 + process.threadCpuUsage().system / 1000;
  let longest = 0;
  let last = now();
  const timer = setInterval(() => {
    const time = now();
    longest = Math.max(longest, time - last);
    last = time;
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      return longest;
    },
  };
}

/** Sends requests one by one over one connection, which they must not end. */
class Client {
  readonly #port: number;
  #connection: RawConnection | undefined;

  constructor(t: Test, port: number) {
    this.#port = port;
    t.teardown(() => this.#connection?.close());
  }

  async send(startLine: string, lines: readonly FieldLine[], body = ''): Promise<RawResponse> {
    this.#connection ??= await RawConnection.open(this.#port);
    const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    const head = Buffer.from(`${startLine} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\n${length}`);
    this.#connection.send(Buffer.concat([head, wireLines(lines), Buffer.from(`\r\n${body}`)]));
    return this.#connection.response();
  }
}

const shown = (exchange: Exchange) =>
  text(200, JSON.stringify({ value: exchange.header(exchange.parameters[0]!) }));

const afterBody = async (exchange: Exchange) => {
  await exchange.body(9);
  return shown(exchange);
};

/** Handlers that answer at once, later, or after the body. */
const ECHOES: Operation[] = [
  { id: 'now', method: 'GET', path: '/now/{name}', handle: shown },
  { id: 'late', method: 'GET', path: '/late/{name}', handle: afterBody },
  { id: 'posted', method: 'POST', path: '/now/{name}', handle: afterBody },
];
const STARTS = ['GET /now/', 'GET /late/', 'POST /now/'];

t.test('every handler gets the value that the lines make together', async (t) => {
  const client = new Client(t, (await listen(t, ECHOES)).port);
  const requests = constantFrom(...NAMES).chain((name) =>
    fc.record({ name: fc.constant(name), start: constantFrom(...STARTS), lines: linesOf(name) }),
  );
  await fuzz(t, requests, async ({ name, start, lines }) => {
    const { status, body } = await client.send(
      `${start}${name}`,
      lines,
      start.startsWith('POST') ? 'body' : '',
    );
    if (status === 431) return;
    const wanted = fieldValue(lines, name);
    const got = status === 200 ? JSON.parse(body.toString()) : JSON.parse(body.toString()).code;
    const expected = wanted === 'refused' ? 'invalid_request' : wanted;
    if (JSON.stringify(got) !== JSON.stringify(expected))
      throw new Error(`${status} ${JSON.stringify(got)} instead of ${JSON.stringify(expected)}`);
  });
});

t.test('the service judges all lines of a field', async (t) => {
  const service = await start(t);
  const { json } = await post(
    `${service.url}/fuzz-headers`,
    'A text that is worth compressing. '.repeat(100),
  );
  const path = new URL(json.read_url).pathname;
  const etag = (
    await ask(`${service.url}${path}`, { headers: { 'accept-encoding': 'identity' } })
  ).headers.get('etag')!;
  const tags = [etag, `W/${etag}`, '"other"', '"a", "b"', `"a",${etag}`, '', ',', '*', 'junk'];
  const line = fc.oneof(
    fc.tuple(constantFrom('If-None-Match', 'if-none-match'), constantFrom(...tags)),
    fc.tuple(fc.constant('Accept-Encoding'), constantFrom('', 'deflate', 'identity', 'gzip', 'br', 'br;q=0')),
    fc.tuple(constantFrom('X-Feed-Password', 'x-unknown', 'Range'), constantFrom('', 'x', '\xff')),
  );
  const client = new Client(t, service.port);
  await fuzz(t, fc.array(line, { maxLength: 6 }), async (lines) => {
    const { status, headers } = await client.send(`GET ${path}`, lines);
    const listed = valuesOf(lines, 'if-none-match').join(', ');
    const codings = valuesOf(lines, 'accept-encoding').join(',').split(',');
    const mayBe = (coding: string) => codings.includes(coding) && !codings.includes(`${coding};q=0`);
    const coding = /-(br|gzip)"$/.exec(headers.etag!)?.[1];
    if (coding !== undefined && !codings.includes(coding)) throw new Error(`${coding} was not asked for`);
    if (coding === undefined && !codings.includes('identity') && (mayBe('br') || mayBe('gzip')))
      throw new Error(`not encoded`);
    const named = listed.split(',').map((tag) => tag.trim().replace('W/', ''));
    const isListed = listed === '*' || named.includes(headers.etag!);
    if (status !== (isListed ? 304 : 200)) throw new Error(`${status} to ${headers.etag}`);
  });
});

t.test('a write judges what it uses, once', async (t) => {
  const service = await start(t);
  await post(`${service.url}/fuzz-writes`, 'The feed has no password.');
  const line = fc.oneof(
    fc.tuple(constantFrom('X-Note-Tags', 'x-note-tags'), constantFrom('', 'a', 'B, c', 'a,,d', ' ')),
    fc.tuple(constantFrom('X-Note-Title', 'x-NOTE-title'), constantFrom('', 'One', 'é')),
    fc.tuple(constantFrom('Authorization', 'X-Feed-Password'), constantFrom('Bearer x', 'x')),
  );
  const client = new Client(t, service.port);
  await fuzz(t, fc.array(line, { maxLength: 5 }), async (lines) => {
    const sent = lines.map(([name, value]): FieldLine => [name, Buffer.from(value).toString('latin1')]);
    const { status, body } = await client.send(
      'POST /fuzz-writes',
      [['Content-Type', 'text/markdown'], ...sent],
      'text',
    );
    const names = lines.map(([name]) => name.toLowerCase()).filter((name) => name !== 'x-note-tags');
    const isRepeated = new Set(names).size < names.length;
    const hasPassword = names.includes('x-feed-password');
    const note = JSON.parse(body.toString());
    if (status !== 201) {
      if (
        isRepeated
          ? status === 400 && note.code === 'invalid_request'
          : hasPassword && note.code === 'feed_exists'
      )
        return;
      throw new Error(`${status} ${body}`);
    }
    if (isRepeated) throw new Error('taken');
    const wanted = new Set(
      valuesOf(sent, 'x-note-tags')
        .join(',')
        .toLowerCase()
        .split(',')
        .map((tag) => tag.trim())
        .filter(Boolean),
    );
    const { tags } = (await ask(`${service.url}/api/v1/feeds/fuzz-writes/notes/${note.id}`)).json;
    if (JSON.stringify(tags) !== JSON.stringify([...wanted])) throw new Error(`tags ${JSON.stringify(tags)}`);
    await ask(note.url, { method: 'DELETE' });
  });
});
