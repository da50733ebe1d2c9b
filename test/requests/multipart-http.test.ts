/** Multipart requests over real connections: memory, refusals while the body arrives, clients that go away. */
import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { largestRequestBytes } from '../../src/feeds/limits.ts';
import { json } from '../../src/http/answer.ts';
import type { Operation } from '../../src/http/exchange.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { readMultipart, type SubmissionRules } from '../../src/requests/multipart.ts';
import { eventually } from '../support/eventually.ts';
import { listen } from '../support/http-server.ts';
import { BOUNDARY, FORM_TYPE, field, file, formBody } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { NO_LIMITS } from '../support/storing.ts';

const MIB = 1024 * 1024;
const RULES: SubmissionRules = { maxImageBytes: 5 * MIB, limits: NO_LIMITS };
const LIMIT = largestRequestBytes(RULES.maxImageBytes);

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

/** A server that answers with what it has read, and the most body memory it has seen held. */
async function open(t: Test): Promise<{ server: HttpServer; connection: RawConnection; most: () => number }> {
  let most = 0;
  const post: Operation = {
    id: 'post',
    method: 'POST',
    path: '/',
    handle: async (exchange) => {
      const body = (limit: number, onPiece: (piece: Uint8Array) => void) =>
        exchange.body(limit, (piece) => {
          most = Math.max(most, server.bodies.used);
          onPiece(piece);
        });
      const request = { contentLength: exchange.contentLength, header: exchange.header.bind(exchange), body };
      const { text, pictures } = await readMultipart(request, RULES);
      return json(200, {
        text: text && Buffer.from(text).toString(),
        pictures: pictures.map(({ bytes, ...rest }) => ({ ...rest, sha256: sha256(bytes) })),
      });
    },
  };
  const server = await listen(t, [post], { bodyMemory: 256 * MIB });
  const connection = await RawConnection.open(server.port);
  t.teardown(() => connection.close());
  return { server, connection, most: () => most };
}

function head(extra: string): string {
  return `POST / HTTP/1.1\r\nHost: test\r\nContent-Type: ${FORM_TYPE}\r\n${extra}\r\n`;
}

async function answer(connection: RawConnection): Promise<{ status: number; [member: string]: unknown }> {
  const { status, body } = await connection.response();
  return { status, ...JSON.parse(body.toString()) };
}

t.test('ten pictures of the largest size and a text need no memory but that of the body', async (t) => {
  const { server, connection, most } = await open(t);
  const bytes = Array.from({ length: 10 }, (_, seed) => picture('png', 5 * MIB, seed));
  const body = formBody([
    ...bytes.map((content, i) => file('file', `${i}.png`, 'image/png', content)),
    field('text', 'hi'),
  ]);
  connection.send(head(`Content-Length: ${body.length}\r\n`));
  connection.send(body);
  t.match(await answer(connection), {
    status: 200,
    text: 'hi',
    pictures: bytes.map((content, i) => ({ name: `${i}.png`, type: 'png', sha256: sha256(content) })),
  });
  t.equal(most(), body.length);
  t.equal(server.bodies.used, 0);
});

t.test('a body of unknown length is read like any other', async (t) => {
  const { connection } = await open(t);
  const body = formBody([file('file', 'ä.gif', 'image/gif', picture('gif')), field('alt.ä.gif', 'x')]);
  connection.send(head('Transfer-Encoding: chunked\r\n'));
  for (const byte of body) connection.send(Buffer.from(`1\r\n${String.fromCharCode(byte)}\r\n`, 'latin1'));
  connection.send('0\r\n\r\n');
  const pictures = [{ name: 'ä.gif', type: 'gif', alt: 'x', sha256: sha256(picture('gif')) }];
  t.match(await answer(connection), { status: 200, pictures });
});

t.test('a length over the limit is refused before anything of the body is sent', async (t) => {
  const { connection } = await open(t);
  connection.send(head(`Content-Length: ${LIMIT + 1}\r\n`));
  t.match(await answer(connection), { status: 413, code: 'too_large' });
});

t.test('a body of unknown length is refused when it has become too large', async (t) => {
  const { server, connection } = await open(t);
  connection.send(head('Transfer-Encoding: chunked\r\n'));
  connection.send('7fffffff\r\n');
  connection.send(formBody([field('text', 'a')]));
  connection.send(Buffer.alloc(LIMIT + 2 * MIB));
  t.match(await answer(connection), { status: 413, code: 'too_large' });
  t.equal(server.bodies.used, 0);
});

/** Beginnings of bodies that need not be sent to their end. */
const early: [what: string, sent: string | Buffer, refusal: object][] = [
  [
    'a part of another name',
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="other"\r\n\r\na`,
    { status: 400, code: 'invalid_body' },
  ],
  [
    'a file of another type',
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: text/html\r\n\r\na`,
    { status: 415, code: 'unsupported_type' },
  ],
  [
    'a picture too large',
    formBody([file('file', 'a', 'image/png', Buffer.alloc(5 * MIB + 1))]).subarray(0, 5 * MIB + 500),
    { status: 413, code: 'too_large' },
  ],
  [
    'a text too large',
    formBody([field('text', Buffer.alloc(100 * 1024 + 1, 'a'))]).subarray(0, 100 * 1024 + 500),
    { status: 413, code: 'too_large' },
  ],
  ['an endless header', `--${BOUNDARY}\r\n${'a'.repeat(200_000)}`, { status: 400, code: 'invalid_body' }],
  ['another boundary', `--other\r\n${'a'.repeat(200_000)}`, { status: 400, code: 'invalid_body' }],
];
for (const [what, sent, refusal] of early) {
  t.test(`${what} is refused while the body is still to come`, async (t) => {
    const { server, connection } = await open(t);
    connection.send(head(`Content-Length: ${LIMIT}\r\n`));
    connection.send(sent);
    t.match(await answer(connection), refusal);
    t.equal(server.bodies.used, 0);
  });
}

t.test('the connection serves on after a small refused body', async (t) => {
  const { connection } = await open(t);
  const body = formBody([field('text', 'a')]);
  for (const cut of [1, 0, 20, 0]) {
    const sent = body.subarray(0, body.length - 3 * cut);
    connection.send(head(`Content-Length: ${sent.length}\r\n`));
    connection.send(sent);
    t.match(await answer(connection), cut === 0 ? { status: 200 } : { status: 400, code: 'invalid_body' });
  }
});

t.test('a request without a body is refused', async (t) => {
  for (const extra of ['', 'Content-Length: 0\r\n']) {
    const { connection } = await open(t);
    connection.send(head(extra));
    t.match(await answer(connection), { status: 400, code: 'invalid_body' });
  }
});

t.test('a client that goes away in the middle of a part leaves nothing behind', async (t) => {
  const { server, connection, most } = await open(t);
  connection.send(head('Content-Length: 1000000\r\n'));
  connection.send(formBody([file('file', 'a', 'image/png', Buffer.alloc(900_000))]).subarray(0, 500_000));
  t.ok(await eventually(() => most() === 1_000_000));
  connection.close();
  t.ok(await eventually(() => server.bodies.used === 0));
});
