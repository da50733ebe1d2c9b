/** Bodies that are the note, whatever a plain client says of their type (contract §4). */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { contents } from '../support/refused.ts';
import { type Reply, start } from '../support/service.ts';

const run = promisify(execFile);
const LARGEST = 300_000;
const service = await start(t, { SERVICE_MAX_IMAGE_BYTES: String(LARGEST) });
const feed = new FeedClient(service.url, 'wren');
const bytesOf = ({ json }: Reply) => readFileSync(join(service.dir, 'wren', json.file));

t.test("curl's simplest command posts markdown", { skip: missing('curl') }, async (t) => {
  const { stdout } = await run('curl', ['-s', '-d', 'The tests are **green**', `${service.url}/wren`]);
  const { file } = JSON.parse(stdout);
  t.match(file, /\.md$/);
  t.equal(readFileSync(join(service.dir, 'wren', file), 'utf8'), 'The tests are **green**');
});

const ODD = Buffer.from('\ufeffa=1&b=%20+\r\n\0é');
for (const type of [
  '',
  'text/plain',
  'text/plain; charset=UTF-8',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=utf-8',
]) {
  t.test(`a text of the type "${type}" is markdown, byte for byte`, async (t) => {
    const headers = { 'content-type': type };
    const posted = await feed.post(ODD, { ...headers, 'x-note-title': 'A title' });
    t.match(posted, { status: 201, json: { file: /\.md$/ } });
    t.same(bytesOf(posted), ODD);
    const { id, file } = posted.json;
    const path = `/notes/${id}`;
    const replaced = await feed.with(headers).put(path, Buffer.from('b'));
    t.match(replaced, { status: 200, json: { file, title: 'A title', content: 'b' } });
    t.match(await feed.post('a', { ...headers, 'x-note-alt': 'a' }), {
      status: 400,
      json: { error: /X-Note-Alt/ },
    });
    t.match(await feed.post(Buffer.from([0x61, 0xff]), headers), {
      status: 415,
      json: { code: 'unsupported_type', error: 'The bytes are not a text in UTF-8.' },
    });
    // As PowerShell writes the output of a program into a file.
    t.match(await feed.post(Buffer.from('\ufeffa', 'utf16le'), headers), {
      status: 415,
      json: { error: 'The bytes are UTF-16, not a text in UTF-8.' },
    });
    t.match(await feed.post(' \n', headers), { status: 400, json: { code: 'empty_note' } });
    t.match(await feed.post('x'.repeat(102_401), headers), { status: 413, json: { error: /A text/ } });
  });
}

for (const type of ['', 'application/octet-stream', 'Application/Octet-Stream; a=b']) {
  t.test(`a picture of the type "${type}" is what its signature says`, async (t) => {
    const headers = { 'content-type': type };
    for (const kind of ['png', 'jpg', 'gif', 'webp'] as const) {
      const bytes = picture(kind, 200_000);
      const posted = await feed.post(bytes, { ...headers, 'x-note-alt': 'A cat', 'x-note-name': 'cat' });
      t.match(posted, { status: 201, json: { file: new RegExp(`\\.${kind}$`) } });
      t.same(bytesOf(posted), bytes);
      const path = `/notes/${posted.json.id}`;
      const replaced = await feed.with(headers).put(path, picture(kind, 100, 1));
      t.match(replaced, {
        status: 200,
        json: { file: posted.json.file, alt: 'A cat', name: 'cat', size: 100 },
      });
      const other = picture(kind === 'png' ? 'gif' : 'png');
      t.match(await feed.with(headers).put(path, other), { status: 415, json: { error: /same type/ } });
    }
    t.match(await feed.post(picture('png', LARGEST + 1), headers), { status: 413 });
  });
}

t.test('what is no picture of ours is named', async (t) => {
  const heic = Buffer.concat([Buffer.from('\0\0\0\x18ftypheic'), Buffer.from([0xff])]);
  const octets = { 'content-type': 'application/octet-stream' };
  for (const [bytes, headers, sentence] of [
    [heic, octets, 'The bytes are HEIC, not PNG, JPEG, GIF or WebP.'],
    [heic, { 'content-type': '' }, 'The bytes are HEIC, not a text in UTF-8.'],
    [heic, { 'content-type': 'image/jpeg' }, 'The bytes are HEIC, not JPEG.'],
    [picture('jpg'), { 'content-type': 'image/png' }, 'The bytes are JPEG, not PNG.'],
    [picture('jpg'), { 'content-type': 'text/plain' }, 'The bytes are JPEG, not a text in UTF-8.'],
    [Buffer.from('<svg/>'), octets, 'The bytes are not PNG, JPEG, GIF or WebP.'],
    [Buffer.from('<svg>'), octets, 'The bytes are SVG, not PNG, JPEG, GIF or WebP.'],
    [Buffer.alloc(0), octets, 'The bytes are not PNG, JPEG, GIF or WebP.'],
  ] as const) {
    const reply = await feed.post(bytes, headers);
    t.match(reply, { status: 415, json: { code: 'unsupported_type', error: sentence } });
  }
});

t.test('a body without a type is refused as soon as its first bytes tell what it is', async (t) => {
  const before = contents(service.dir);
  const refusalOf = async (length: number, pieces: (string | Uint8Array)[], port: number, more = '') => {
    const connection = await RawConnection.open(port);
    connection.send(`POST /wren HTTP/1.1\r\nHost: a\r\n${more}Content-Length: ${length}\r\n\r\n`);
    for (const piece of pieces) connection.send(piece);
    const { status, body } = await connection.response();
    connection.close();
    return { status, ...JSON.parse(body.toString()) };
  };
  const png = picture('png', 12);
  t.match(await refusalOf(LARGEST + 1, [], service.port), { status: 413 }, 'more than a picture may have');
  t.match(await refusalOf(LARGEST, ['a text of more', ' bytes'], service.port), {
    status: 413,
    error: /A text/,
  });
  const bad = 'X-Note-Title: a\tb\r\n';
  t.match(await refusalOf(LARGEST, [png], service.port, bad), { status: 400, error: /X-Note-Title/ });
  const off = await start(t, { SERVICE_IMAGE_UPLOADS: '0' });
  t.match(await refusalOf(LARGEST, [png], off.port), { status: 403, code: 'images_off' });
  const octets = 'Content-Type: application/octet-stream\r\n';
  t.match(await refusalOf(LARGEST, [], off.port, octets), { status: 403, code: 'images_off' });
  t.same(contents(service.dir), before);
  t.equal((await new FeedClient(off.url, 'wren').post('x', { 'content-type': '' })).status, 201);
});

t.test('a body in small pieces, or without a known length', async (t) => {
  for (const [bytes, file] of [
    [picture('webp', 40), /\.webp$/],
    [Buffer.from('A text.'), /\.md$/],
    [Buffer.from('A text of several chunks.'), /\.md$/],
  ] as const) {
    const connection = await RawConnection.open(service.port);
    connection.send('POST /wren HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const byte of bytes)
      connection.send(Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')]));
    connection.send('0\r\n\r\n');
    const { status, body } = await connection.response();
    t.match([status, JSON.parse(body.toString()).file], [201, file]);
    connection.close();
  }
  const long = await RawConnection.open(service.port);
  long.send('POST /wren HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  long.send(`1ffff\r\n${'x'.repeat(0x1ffff)}\r\n0\r\n\r\n`);
  t.equal((await long.response()).status, 413);
  long.close();
});
