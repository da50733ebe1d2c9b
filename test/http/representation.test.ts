/** Conditional, encoded and partial answers: RFC 9110 §12 to §15. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { Answer, BodyStream, KeptBody } from '../../src/http/answer.ts';
import type { Coding } from '../../src/http/representation.ts';
import { Representation } from '../../src/http/representation.ts';
import { readFirst } from '../../src/http/stored-body.ts';
import { Refusal } from '../../src/refusals.ts';

const TIME = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const DATE = 'Fri, 02 Jan 2026 03:04:07 GMT';
const EARLIER = 'Fri, 02 Jan 2026 03:04:06 GMT';
const BODY = Buffer.alloc(2000, 'text ');
const LETTERS = Buffer.from('0123456789');

/** A request with these header fields. */
function request(fields: Record<string, string> = {}, method = 'GET') {
  return { isHead: method === 'HEAD', header: (name: string) => fields[name] };
}

function field(answer: Answer, name: string): string | undefined {
  const line = answer.headers.lines.find((text) => text.startsWith(`${name}: `));
  return line?.slice(name.length + 2);
}

function make(options: Partial<ConstructorParameters<typeof Representation>[0]> = {}): Representation {
  const fields = { 'Content-Type': 'text/plain', 'Cache-Control': 'public, max-age=60' };
  const made = new Representation({ body: BODY, etag: 'v1', changedAt: TIME, fields, ...options });
  made.confirm();
  return made;
}

/** Something that compresses when it is told to. */
function compressor() {
  const calls: Coding[] = [];
  const waiting: { resolve: (bytes: Uint8Array) => void; reject: (cause: Error) => void }[] = [];
  const compress = (_: Uint8Array, coding: Coding) => {
    calls.push(coding);
    return new Promise<Uint8Array>((resolve, reject) => waiting.push({ resolve, reject }));
  };
  return { calls, waiting, compress };
}

const quick = async (_: Uint8Array, coding: Coding) => Buffer.from(`packed with ${coding}`);

t.test('as it is: 200 with its validators', async (t) => {
  const answer = await make().answer(request());
  t.equal(answer.status, 200);
  t.equal(answer.body, BODY);
  t.equal(field(answer, 'ETag'), '"v1"');
  t.equal(field(answer, 'Last-Modified'), DATE);
  t.equal(field(answer, 'Content-Type'), 'text/plain');
  t.equal(field(answer, 'Vary'), undefined);
  t.equal(field(answer, 'Accept-Ranges'), undefined);
  t.equal(make().etag, '"v1"');
});

t.test('every coding has an ETag of its own, and says on what it depends', async (t) => {
  const one = make({ compress: quick });
  for (const [accepted, coding] of [
    ['gzip', 'gzip'],
    ['br, gzip', 'br'],
    ['', undefined],
  ] as const) {
    const answer = await one.answer(request({ 'accept-encoding': accepted }));
    t.equal(field(answer, 'ETag'), coding ? `"v1-${coding}"` : '"v1"');
    t.equal(field(answer, 'Content-Encoding'), coding);
    t.equal(field(answer, 'Vary'), 'Accept-Encoding');
    t.equal(
      Buffer.from(answer.body as Uint8Array).toString(),
      coding ? `packed with ${coding}` : BODY.toString(),
    );
  }
});

t.test('compressed once for many requests at once, and for those that come later', async (t) => {
  const { calls, waiting, compress } = compressor();
  const one = make({ compress });
  const gzip = request({ 'accept-encoding': 'gzip' });
  const asked = Array.from({ length: 20 }, () => one.answer(gzip));
  t.same(calls, ['gzip']);
  waiting[0]!.resolve(Buffer.from('packed'));
  const answers = await Promise.all(asked);
  t.equal(new Set(answers).size, 1);
  t.equal(one.answer(gzip), answers[0], 'without a promise from then on');
  one.answer(request({ 'accept-encoding': 'br' }));
  t.same(calls, ['gzip', 'br']);
});

t.test('its size is that of all its forms, and it tells when one is added', async (t) => {
  const sizes: number[] = [];
  const one = make({ compress: async () => new Uint8Array(100) });
  one.onGrow = () => sizes.push(one.size);
  t.equal(one.size, 2000);
  await one.answer(request({ 'accept-encoding': 'gzip' }));
  await one.answer(request({ 'accept-encoding': 'gzip' }));
  await one.answer(request({ 'accept-encoding': 'br' }));
  t.same(sizes, [2100, 2200]);
});

t.test('small bodies are never compressed', async (t) => {
  const { calls, compress } = compressor();
  const answer = await make({ body: BODY.subarray(0, 1023), compress }).answer(
    request({ 'accept-encoding': 'br' }),
  );
  t.equal(field(answer, 'Content-Encoding'), undefined);
  t.equal(field(answer, 'ETag'), '"v1"');
  t.same(calls, []);
});

t.test('where compression fails the bytes are sent as they are, and it is tried again later', async (t) => {
  const { calls, waiting, compress } = compressor();
  const one = make({ compress });
  const gzip = request({ 'accept-encoding': 'gzip' });
  const asked = [one.answer(gzip), one.answer(gzip)];
  waiting[0]!.reject(new Error('the pool is full'));
  for (const answer of await Promise.all(asked)) {
    t.equal(answer.body, BODY);
    t.equal(field(answer, 'ETag'), '"v1"');
    t.equal(field(answer, 'Content-Encoding'), undefined);
  }
  const again = one.answer(gzip);
  t.equal(calls.length, 2);
  waiting[1]!.resolve(Buffer.from('packed'));
  t.equal(field(await again, 'Content-Encoding'), 'gzip');
});

t.test('a compression that throws at once is tried again too', async (t) => {
  let calls = 0;
  const compress = () => {
    calls += 1;
    if (calls === 1) throw new Error('the pool is full');
    return Promise.resolve(Buffer.from('packed'));
  };
  const one = make({ compress });
  const gzip = request({ 'accept-encoding': 'gzip' });
  t.equal((await one.answer(gzip)).body, BODY);
  t.equal(field(await one.answer(gzip), 'Content-Encoding'), 'gzip');
});

const preconditions: [fields: Record<string, string>, status: number][] = [
  [{ 'if-none-match': '"v1"' }, 304],
  [{ 'if-none-match': 'W/"v1"' }, 304],
  [{ 'if-none-match': '"v0", "v1"' }, 304],
  [{ 'if-none-match': '*' }, 304],
  [{ 'if-none-match': '"v0"' }, 200],
  [{ 'if-none-match': '"v1-gzip"' }, 200],
  [{ 'if-modified-since': DATE }, 304],
  [{ 'if-modified-since': EARLIER }, 200],
  [{ 'if-modified-since': 'yesterday' }, 200],
  [{ 'if-none-match': '"v0"', 'if-modified-since': DATE }, 200],
  [{ 'if-none-match': '"v1"', 'if-modified-since': EARLIER }, 304],
  [{ 'if-none-match': '"v1"', range: 'bytes=0-1' }, 304],
  [{ 'if-none-match': '"v0"', range: 'bytes=0-1' }, 206],
];
for (const [fields, status] of preconditions) {
  t.test(`${JSON.stringify(fields)} is ${status}, for HEAD too`, async (t) => {
    const one = make({ ranges: true, compress: quick });
    t.equal((await one.answer(request(fields))).status, status);
    t.equal((await one.answer(request(fields, 'HEAD'))).status, status === 206 ? 200 : status);
  });
}

t.test('If-None-Match names the form that would be sent', async (t) => {
  const { calls, compress } = compressor();
  const one = make({ compress });
  const answer = await one.answer(request({ 'accept-encoding': 'gzip', 'if-none-match': '"v1-gzip"' }));
  t.equal(answer.status, 304);
  t.equal(field(answer, 'ETag'), '"v1-gzip"');
  t.same(calls, [], 'nothing is compressed for a 304');
  t.equal((await one.answer(request({ 'if-none-match': '"v1-gzip"' }))).status, 200);
});

t.test('a 304 has the fields that a cache needs, and no others', async (t) => {
  const answer = await make({ compress: quick }).answer(request({ 'if-none-match': '*' }));
  t.same(answer.headers.lines, [
    'Cache-Control: public, max-age=60',
    'ETag: "v1"',
    'Vary: Accept-Encoding',
    `Last-Modified: ${DATE}`,
  ]);
  t.equal(answer.body, undefined);
});

t.test('without a date If-Modified-Since says nothing', async (t) => {
  const fields = { 'if-modified-since': 'Fri, 02 Jan 2099 03:04:05 GMT' };
  t.equal((await make({ changedAt: undefined }).answer(request(fields))).status, 200);
  t.equal((await make({ changedAt: Date.now() + 60_000 }).answer(request(fields))).status, 200);
});

t.test('a date comes when it is settled, to all answers that are ready', async (t) => {
  const one = make({ changedAt: Date.parse('2099-01-02T03:04:05.678Z'), compress: quick });
  const settled = Date.parse('2099-01-02T03:04:07Z');
  const later = 'Fri, 02 Jan 2099 03:04:07 GMT';
  const gzip = { 'accept-encoding': 'gzip' };
  const asked = [{}, gzip, { 'if-none-match': '*' }];
  const dates = () =>
    Promise.all(asked.map(async (fields) => field(await one.answer(request(fields)), 'Last-Modified')));
  const statusAt = async (since: string) =>
    (await one.answer(request({ 'if-modified-since': since }))).status;
  for (const time of [undefined, settled - 1]) {
    one.confirm(time);
    t.same(await dates(), [undefined, undefined, undefined]);
    t.equal(await statusAt(later), 200);
  }
  one.confirm(settled);
  t.same(await dates(), [later, later, later]);
  t.equal(field(await one.answer(request({ 'accept-encoding': 'br' })), 'Last-Modified'), later);
  t.same((await one.answer(request(gzip))).body, Buffer.from('packed with gzip'));
  t.equal(await statusAt(later), 304);
  t.equal(await statusAt('Fri, 02 Jan 2099 03:04:06 GMT'), 200);
});

t.test('HEAD is answered as GET is, compressed form included', async (t) => {
  const one = make({ compress: quick });
  const gzip = { 'accept-encoding': 'gzip' };
  t.equal(await one.answer(request(gzip, 'HEAD')), await one.answer(request(gzip)));
});

t.test('a part of it', async (t) => {
  const one = make({ body: LETTERS, ranges: true });
  const answer = await one.answer(request({ range: 'bytes=2-4' }));
  t.equal(answer.status, 206);
  t.equal(Buffer.from(answer.body as Uint8Array).toString(), '234');
  t.equal(field(answer, 'Content-Range'), 'bytes 2-4/10');
  t.equal(field(answer, 'ETag'), '"v1"');
  t.equal(field(answer, 'Last-Modified'), DATE);
  t.equal(field(answer, 'Content-Type'), 'text/plain');
  t.equal(field(await one.answer(request()), 'Accept-Ranges'), 'bytes');
});

t.test('a part that does not exist', async (t) => {
  const answer = await make({ body: LETTERS, ranges: true }).answer(request({ range: 'bytes=10-' }));
  t.equal(answer.status, 416);
  t.equal(answer.code, 'range');
  t.equal(field(answer, 'Content-Range'), 'bytes */10');
  t.equal(field(answer, 'ETag'), undefined);
});

const whole: [why: string, fields: Record<string, string>, method: string, ranges: boolean][] = [
  ['HEAD', { range: 'bytes=0-1' }, 'HEAD', true],
  ['HEAD of a part that does not exist', { range: 'bytes=99-' }, 'HEAD', true],
  ['several parts', { range: 'bytes=0-1,3-4' }, 'GET', true],
  ['another unit', { range: 'lines=0-1' }, 'GET', true],
  ['no parts to be had', { range: 'bytes=0-1' }, 'GET', false],
  ['If-Range of another version', { range: 'bytes=0-1', 'if-range': '"v0"' }, 'GET', true],
  ['If-Range with a weak tag', { range: 'bytes=0-1', 'if-range': 'W/"v1"' }, 'GET', true],
  ['If-Range with a list', { range: 'bytes=0-1', 'if-range': '"v1", "v0"' }, 'GET', true],
  [
    'If-Range with the date, which two versions may share',
    { range: 'bytes=0-1', 'if-range': DATE },
    'GET',
    true,
  ],
  ['If-Range fails before the part is looked at', { range: 'bytes=99-', 'if-range': '"v0"' }, 'GET', true],
];
for (const [why, fields, method, ranges] of whole) {
  t.test(`the whole: ${why}`, async (t) => {
    const answer = await make({ body: LETTERS, ranges }).answer(request(fields, method));
    t.equal(answer.status, 200);
    t.equal(answer.body, LETTERS);
    t.equal(field(answer, 'Content-Range'), undefined);
  });
}

t.test('If-Range of this version', async (t) => {
  const fields = { range: 'bytes=-1', 'if-range': '"v1"' };
  t.equal((await make({ body: LETTERS, ranges: true }).answer(request(fields))).status, 206);
});

t.test('parts are of the bytes as they are, not of a compressed form', async (t) => {
  const one = make({ ranges: true, compress: quick });
  const answer = await one.answer(request({ range: 'bytes=0-3', 'accept-encoding': 'gzip' }));
  t.equal(field(answer, 'ETag'), '"v1"');
  t.equal(field(answer, 'Content-Encoding'), undefined);
  t.equal(Buffer.from(answer.body as Uint8Array).toString(), 'text');
});

/** A body that is read anew each time, and notes what was read. */
function large() {
  const reads: [start: number, end: number][] = [];
  const read = async function* (start: number, end: number) {
    reads.push([start, end]);
    for (let at = start; at < end; at += 3) yield LETTERS.subarray(at, Math.min(at + 3, end));
  };
  return { reads, body: { size: LETTERS.length, read } };
}

async function collect(answer: Answer): Promise<string> {
  if (answer.body instanceof Uint8Array) return Buffer.from(answer.body).toString();
  const body = answer.body as BodyStream | KeptBody;
  const { size } = body;
  const parts: Uint8Array[] = [];
  for await (const chunk of 'from' in body ? body.from(0) : body.chunks) parts.push(chunk.slice());
  const text = Buffer.concat(parts).toString();
  assert.equal(text.length, size);
  return text;
}

t.test('a large body is read anew for each answer, and only what is sent of it', async (t) => {
  const { reads, body } = large();
  const one = make({ body, ranges: true, compress: quick });
  t.equal(one.size, 0, 'it holds no memory');
  await one.answer(request({ 'if-none-match': '"v1"' }));
  t.same(reads, [], 'nothing is read for a 304');
  await one.answer(request({}, 'HEAD'));
  t.same(reads.splice(0), [[0, 1]], 'a HEAD finds out whether it can be read');
  t.equal(await collect(await one.answer(request({ 'accept-encoding': 'gzip' }))), '0123456789');
  t.equal(await collect(await one.answer(request())), '0123456789');
  t.equal(await collect(await one.answer(request({ range: 'bytes=4-7' }))), '4567');
  t.same(reads, [
    [0, 10],
    [0, 10],
    [4, 8],
  ]);
  t.equal((await one.answer(request({ range: 'bytes=10-' }))).status, 416);
});

/** A body of 1,000,000 bytes and what was read of it; each byte says in which read it came. */
function huge() {
  const size = 1_000_000;
  const reads: [start: number, end: number][] = [];
  const read = async function* (start: number, end: number) {
    reads.push([start, end]);
    yield new Uint8Array(end - start).fill(reads.length);
  };
  const one = make({ body: { size, read }, ranges: true, load: (body) => readFirst(body, size) });
  return { size, reads, one, ask: (range: string) => one.answer(request({ range: `bytes=${range}` })) };
}

t.test('large parts are those of the whole body, which is read once while it is in a cache', async (t) => {
  const { size, reads, one, ask } = huge();
  one.onGrow = () => {};
  t.equal((await collect(await ask('0-99'))).length, 100);
  t.same(reads.splice(0), [[0, 100]], 'a small part is read by itself');
  const answers = await Promise.all([ask('0-499999'), ask('100-999999')]);
  t.same(reads, [[0, size]]);
  const lengths = await Promise.all(answers.map(async (answer) => (await collect(answer)).length));
  t.same(lengths, [500_000, 999_900]);
  const small = (await ask('0-99')).body as Uint8Array;
  t.equal(small.buffer.byteLength, 100, 'a small part does not hold all of it');
  t.same(reads, [[0, size]]);
  t.equal(one.size, size);
});

t.test('a body that leaves its cache is not held by its answers, which read the rest of it', async (t) => {
  const { size, reads, one, ask } = huge();
  one.onGrow = () => {};
  const [whole, part] = await Promise.all([one.answer(request()), ask('100-999999')]);
  const rest = (whole.body as KeptBody).from(0)[Symbol.asyncIterator]();
  await rest.next();
  one.release();
  t.equal(one.size, 0);
  for (const { body } of [whole, part]) t.equal((body as KeptBody).bytes(), undefined);
  await rest.next();
  t.same(reads.splice(0), [
    [0, size],
    [64 * 1024, size],
  ]);
  t.equal((await collect(part)).length, 999_900);
  t.same(reads.splice(0), [[100, 1_000_000]]);
  t.equal((await collect(await one.answer(request()))).length, size);
  t.equal(one.size, 0, 'nor is it kept again');
});

t.test('a body that left its cache while it was loaded is not kept', async (t) => {
  const { one } = huge();
  one.onGrow = () => {};
  const answer = one.answer(request());
  one.release();
  t.equal(((await answer).body as KeptBody).bytes(), undefined);
  t.equal(one.size, 0);
});

t.test(
  'a large body that cannot be read is answered as what it is, whatever of it is asked for',
  async (t) => {
    const body = {
      size: 10,
      // biome-ignore lint/correctness/useYield: it fails before its first piece
      async *read() {
        throw new Refusal('not_found', 'It is gone.');
      },
    };
    const left = make({ body, loaded: LETTERS, ranges: true });
    left.release();
    for (const one of [make({ body, ranges: true }), left])
      for (const asked of [request(), request({}, 'HEAD'), request({ range: 'bytes=1-2' })])
        await t.rejects(async () => one.answer(asked), { code: 'not_found' });
  },
);

t.test('whatever parts a client asks for, they are those bytes', async () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(bytes, fc.nat(50), fc.nat(50), (body, first, length) => {
      const answer = make({ body, ranges: true }).answer(
        request({ range: `bytes=${first}-${first + length}` }),
      ) as Answer;
      if (first >= body.length) return answer.status === 416;
      const part = body.slice(first, first + length + 1);
      assert.deepEqual(new Uint8Array(answer.body as Uint8Array), part);
      return field(answer, 'Content-Range') === `bytes ${first}-${first + part.length - 1}/${body.length}`;
    }),
  );
});
