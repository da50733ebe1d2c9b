/** The bytes of notes: sandboxed, in parts, and streamed where they are large. */
import { readdirSync, readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually, untilDated } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { post, start } from '../support/service.ts';

const { url, dir, port } = await start(t, { SERVICE_CACHE_BYTES: '1048576' });
const small = picture('png', 5000);
const posted = await post(`${url}/key`, small, { 'content-type': 'image/png' });
const folder = posted.json.file_url.slice(0, posted.json.file_url.lastIndexOf('/'));
const markup = await post(`${url}/key`, '<script>alert(1)</script>');
const large = picture('gif', 5 * 1024 * 1024, 3);
await writeFile(join(dir, 'key', 'large.gif'), large);
const LARGE = `${folder}/large.gif`;
await eventually(async () => (await exactly(LARGE, { method: 'HEAD' })).status === 200);

t.test('what strangers posted neither runs nor is guessed at', async (t) => {
  for (const address of [posted.json.file_url, markup.json.file_url, LARGE])
    for (const [method, headers] of [
      ['GET', {}],
      ['HEAD', {}],
      ['GET', { range: 'bytes=0-3' }],
    ] as const) {
      const reply = await exactly(address, { method, headers });
      t.match(reply.headers, {
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'accept-ranges': 'bytes',
      });
    }
});

/** Ranges of a file of some size: the value, and the part it stands for. */
function parts(size: number): [string, number, number][] {
  return [
    ['bytes=0-0', 0, 1],
    ['bytes=0-99', 0, 100],
    ['bytes=100-', 100, size],
    ['bytes=-7', size - 7, size],
    [`bytes=-${size * 2}`, 0, size],
    [`bytes=${size - 1}-`, size - 1, size],
    [`bytes=10-${size * 2}`, 10, size],
    [`bytes=${size >> 1}-${(size >> 1) + 1000}`, size >> 1, (size >> 1) + 1001],
  ];
}

for (const [what, address, bytes] of [
  ['kept', posted.json.file_url as string, small],
  ['large', LARGE, large],
] as const) {
  t.test(`a ${what} file, whole and in parts`, async (t) => {
    const whole = await exactly(address);
    t.equal(whole.status, 200);
    t.ok(whole.bytes.equals(bytes));
    t.equal(whole.headers['content-length'], String(bytes.length));
    const head = await exactly(address, { method: 'HEAD', headers: { range: 'bytes=0-3' } });
    t.equal(head.status, 200, 'a range means nothing for HEAD');
    t.equal(head.headers['content-length'], String(bytes.length));
    t.equal(head.headers.etag, whole.headers.etag);
    for (const [range, from, to] of parts(bytes.length)) {
      const part = await exactly(address, { headers: { range } });
      t.equal(part.status, 206, range);
      t.equal(part.headers['content-range'], `bytes ${from}-${to - 1}/${bytes.length}`, range);
      t.equal(part.headers['content-length'], String(to - from), range);
      t.ok(part.bytes.equals(bytes.subarray(from, to)), range);
      t.equal(part.headers.etag, whole.headers.etag);
    }
    for (const range of [
      `bytes=${bytes.length}-`,
      'bytes=-0',
      `bytes=${bytes.length + 5}-${bytes.length + 9}`,
    ]) {
      const reply = await exactly(address, { headers: { range } });
      t.equal(reply.status, 416, range);
      t.equal(reply.headers['content-range'], `bytes */${bytes.length}`, range);
      t.match(JSON.parse(reply.text), { code: 'range' });
    }
    for (const range of ['bytes=5-4', 'items=0-1', 'bytes=a-b', 'bytes=0-1,3-4', 'bytes=-'])
      t.ok((await exactly(address, { headers: { range } })).bytes.equals(bytes), `${range} is ignored`);
  });

  t.test(`If-Range of a ${what} file`, async (t) => {
    await untilDated();
    const { headers } = await exactly(address);
    const asked = async (ifRange: string) =>
      (await exactly(address, { headers: { range: 'bytes=1-5', 'if-range': ifRange } })).status;
    t.equal(await asked(headers.etag!), 206, 'the same file');
    t.equal(await asked('"other"'), 200, 'another file');
    t.equal(await asked(`W/${headers.etag}`), 200, 'compared strongly');
    t.equal(await asked(headers['last-modified']!), 200, 'a date may be shared by two files');
    const unchanged = { range: 'bytes=1-5', 'if-none-match': headers.etag! };
    t.equal((await exactly(address, { headers: unchanged })).status, 304, 'a 304 comes before a part');
  });
}

t.test('a large file is named by its content, and changed by hand it is another', async (t) => {
  const before = await exactly(LARGE, { method: 'HEAD' });
  const headers = { 'if-none-match': before.headers.etag! };
  t.equal((await exactly(LARGE, { headers })).status, 304);
  await writeFile(join(dir, 'key', 'copy.gif'), large);
  await eventually(async () => (await exactly(`${folder}/copy.gif`)).status === 200);
  t.equal((await exactly(`${folder}/copy.gif`)).headers.etag, before.headers.etag);
  const other = picture('gif', large.length, 9);
  await writeFile(join(dir, 'key', 'copy.gif'), other);
  t.ok(await eventually(async () => (await exactly(`${folder}/copy.gif`)).bytes.equals(other)));
  t.not((await exactly(`${folder}/copy.gif`)).headers.etag, before.headers.etag);
});

/** Files of the data folder that this process holds open. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd')
    .map(target)
    .filter((path) => path.endsWith('.gif'));
}

/** What a descriptor stands for; the one that lists them is gone by then. */
function target(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}

t.test('readers that finish, stop half-way or never read leave no file open', async (t) => {
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const range = `bytes=${i * 1000}-${i * 200_000 + 1000}`;
      const reply = await exactly(LARGE, { headers: { range } });
      t.ok(reply.bytes.equals(large.subarray(i * 1000, i * 200_000 + 1001)));
    }),
  );
  for (const method of ['HEAD', 'OPTIONS']) await exactly(LARGE, { method });
  await exactly(LARGE, { headers: { range: 'bytes=99999999-' } });
  const path = new URL(LARGE).pathname;
  const gone: RawConnection[] = [];
  for (let i = 0; i < 10; i += 1) {
    const connection = await RawConnection.open(port);
    connection.socket.pause();
    connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    gone.push(connection);
  }
  t.ok(await eventually(() => openFiles().length === 10), 'streams hold their file open');
  for (const connection of gone) connection.close();
  t.ok(await eventually(() => openFiles().length === 0), `${openFiles().length} files are open`);
  t.ok((await exactly(LARGE)).bytes.equals(large), 'and the next reader is served');
});

t.test('a reader that goes away before its answer begins leaves no file open', async (t) => {
  for (let i = 0; i < 10; i += 1) {
    const connection = await RawConnection.open(port);
    connection.send(`GET ${new URL(LARGE).pathname} HTTP/1.1\r\nHost: a\r\n\r\n`);
    connection.close();
  }
  t.ok((await exactly(LARGE)).bytes.equals(large));
  t.ok(await eventually(() => openFiles().length === 0), `${openFiles().length} files are open`);
});

t.test('a request whose body never ends leaves no file open', async (t) => {
  const { pathname } = new URL(LARGE);
  for (const start of [`GET ${pathname}`, `HEAD ${pathname}`])
    for (const fields of [
      'Transfer-Encoding: chunked\r\n',
      'Transfer-Encoding: chunked\r\nRange: bytes=9-\r\n',
      'Content-Length: 2000000\r\n',
      'Content-Length: 2000\r\n',
    ])
      for (const isHasty of [true, false]) {
        const connection = await RawConnection.open(port);
        connection.socket.pause();
        connection.send(`${start} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
        if (!isHasty && start.startsWith('GET')) await eventually(() => openFiles().length > 0);
        if (!isHasty && start.startsWith('HEAD')) {
          connection.socket.resume();
          t.equal((await connection.response(true)).status, 200);
        }
        connection.close();
        const areClosed = await eventually(() => openFiles().length === 0);
        t.ok(areClosed, `${start.slice(0, 4)} ${fields.trim()} ${isHasty}`);
        if (!areClosed) return;
      }
  for (const end of ['0\r\n\r\n', 'zz\r\n']) {
    const connection = await RawConnection.open(port);
    connection.send(`GET ${pathname} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`);
    connection.send(end);
    if (end.startsWith('0')) t.ok((await connection.response()).body.equals(large));
    connection.close();
    t.ok(await eventually(() => openFiles().length === 0), `after ${JSON.stringify(end)}`);
  }
});
