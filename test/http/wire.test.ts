/** The front end against raw bytes: everything the binding leaves to us, or does in its own way. */
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import type { Operation, Outcome } from '../../src/http/exchange.ts';
import { headers } from '../../src/http/headers.ts';
import { Refusal } from '../../src/refusals.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

const HOST = 'Host: test\r\n';
const EMPTY = 'Content-Length: 0\r\n';
const LARGE = new Uint8Array(16 * 1024 * 1024);
/** The system takes it whole. */
const LONG = new Uint8Array(150_000);
const outcomes: Outcome[] = [];
let aborted = 0;

const operations: Operation[] = [
  { id: 'hello', method: 'GET', path: '/', handle: () => text(200, 'hello') },
  {
    id: 'large',
    method: 'GET',
    path: '/large',
    handle: () => ({ status: 200, headers: headers({}), body: LARGE }),
  },
  {
    id: 'long',
    method: 'GET',
    path: '/long',
    handle: () => ({ status: 200, headers: headers({}), body: LONG }),
  },
  {
    id: 'throw',
    method: 'GET',
    path: '/throw/{how}',
    handle: (exchange) => {
      if (exchange.parameters[0]! === 'sync') throw new Error('on purpose');
      return Promise.reject(new Error('on purpose'));
    },
  },
  {
    id: 'break-out',
    method: 'GET',
    path: '/break-out',
    handle: (exchange) => ({ status: 200, headers: headers({ 'X-Echo': exchange.query('value') }) }),
  },
  {
    id: 'header',
    method: 'POST',
    path: '/header/{name}',
    handle: (exchange) => text(200, JSON.stringify(exchange.header(exchange.parameters[0]!) ?? null)),
  },
  {
    id: 'header-get',
    method: 'GET',
    path: '/header/{name}',
    handle: (exchange) => text(200, JSON.stringify(exchange.header(exchange.parameters[0]!) ?? null)),
  },
  {
    id: 'segment',
    method: 'GET',
    path: '/segment/{value}',
    handle: async (exchange) => text(200, exchange.parameters[0]!),
  },
  {
    id: 'size',
    method: 'POST',
    path: '/size',
    handle: async (exchange) => text(200, String((await exchange.body(5_000_000)).length)),
  },
  {
    id: 'pieces',
    method: 'POST',
    path: '/pieces',
    handle: async (exchange) => {
      let size = 0;
      await exchange.body(5_000_000, (chunk) => {
        size += chunk.length;
      });
      return text(200, String(size));
    },
  },
  {
    id: 'late',
    method: 'POST',
    path: '/late',
    handle: async (exchange) => {
      await delay(50);
      return text(200, String((await exchange.body(5_000_000)).length));
    },
  },
  {
    id: 'status',
    method: 'GET',
    path: '/status/{status}',
    handle: (exchange) => ({ status: Number(exchange.parameters[0]!), headers: headers({ ETag: '"x"' }) }),
  },
  { id: 'refuse', method: 'POST', path: '/refuse', handle: () => text(415, 'no') },
  {
    id: 'wait',
    method: 'GET',
    path: '/wait',
    handle: async (exchange) => {
      while (!exchange.isAborted) await delay(5);
      aborted++;
      return text(200, 'never seen');
    },
  },
  {
    id: 'chunks',
    method: 'GET',
    path: '/chunks',
    handle: () => ({
      status: 200,
      headers: headers({}),
      body: {
        chunks: (async function* () {
          for (let i = 0; i < 100; i++) yield Buffer.alloc(10_000, i);
        })(),
      },
    }),
  },
  {
    id: 'empty-stream',
    method: 'GET',
    path: '/empty-stream',
    handle: () => ({
      status: 200,
      headers: headers({}),
      body: { size: 0, chunks: (async function* () {})() },
    }),
  },
  {
    id: 'broken-stream',
    method: 'GET',
    path: '/broken-stream',
    handle: () => ({
      status: 200,
      headers: headers({}),
      body: {
        size: 1000,
        chunks: (async function* () {
          yield Buffer.alloc(10);
          throw new Error('the disk is gone');
        })(),
      },
    }),
  },
  {
    id: 'broken-by-refusal',
    method: 'GET',
    path: '/broken-by-refusal',
    handle: () => ({
      status: 200,
      headers: headers({}),
      body: {
        size: 1000,
        chunks: (async function* () {
          yield Buffer.alloc(10);
          throw new Refusal('busy', 'The store has too much to do.');
        })(),
      },
    }),
  },
];

t.test('raw bytes', async (t) => {
  const server = await listen(t, operations, { observe: (outcome) => outcomes.push(outcome) });
  const open = async (t: { teardown(fn: () => void): void }) => {
    const connection = await RawConnection.open(server.port);
    t.teardown(() => connection.close());
    return connection;
  };
  const isAlive = async () => (await fetch(`http://127.0.0.1:${server.port}/`)).status === 200;

  t.test('an answer that waits for the end of a body, and then for its reader, arrives whole', async (t) => {
    const connection = await open(t);
    connection.socket.pause();
    connection.send(`GET /large HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`);
    t.ok(await isAlive(), 'it has arrived, because a later request has been answered');
    connection.send('0\r\n\r\n');
    t.ok(await isAlive());
    connection.socket.resume();
    const { status, body } = await connection.response();
    t.match([status, body.length], [200, LARGE.length]);
  });

  t.test('a long answer that ends its connection arrives whole before the end of a body', async (t) => {
    const connection = await open(t);
    connection.socket.pause();
    const fields = `Connection: close\r\nContent-Length: ${2 * LONG.length}\r\n`;
    connection.send(`GET /long HTTP/1.1\r\n${HOST}${fields}\r\n`);
    for (let sent = 0; sent < 2; sent += 1) {
      t.ok(await isAlive(), 'what was sent has arrived');
      connection.send(LONG);
    }
    t.ok(await isAlive());
    connection.socket.resume();
    const { status, body } = await connection.response();
    t.match([status, body.length], [200, LONG.length]);
    await connection.closed;
  });

  for (const how of ['sync', 'async'])
    t.test(`a handler that throws (${how}) is a 500 and the connection goes on`, async (t) => {
      const connection = await open(t);
      connection.send(`GET /throw/${how} HTTP/1.1\r\n${HOST}\r\n`);
      const { status, body } = await connection.response();
      t.equal(status, 500);
      t.match(JSON.parse(body.toString()), { code: 'internal' });
      t.notMatch(body.toString(), 'on purpose');
      t.match(outcomes.at(-1)?.error, { message: 'on purpose' });
      connection.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
      t.equal((await connection.response()).status, 200);
    });

  t.test('a header value with CR and LF never reaches the wire', async (t) => {
    const connection = await open(t);
    connection.send(`GET /break-out?value=a%0d%0aX-Evil:%20b HTTP/1.1\r\n${HOST}\r\n`);
    const { status, headers } = await connection.response();
    t.equal(status, 500);
    t.equal(headers['x-evil'], undefined);
  });

  for (const [name, fields] of [
    ['two lengths', 'Content-Length: 3\r\nContent-Length: 5\r\n'],
    ['two equal lengths', 'Content-Length: 3\r\nContent-Length: 3\r\n'],
    ['an unknown transfer coding', 'Transfer-Encoding: gzip, chunked\r\n'],
  ] as const)
    for (const method of ['POST', 'GET', 'HEAD'])
      t.test(`${name} on ${method}: 400 and the connection ends`, async (t) => {
        const connection = await open(t);
        connection.send(`${method} /size HTTP/1.1\r\n${HOST}${fields}\r\n3\r\nabcde`);
        const { status, body } = await connection.response(method === 'HEAD');
        t.equal(status, 400);
        if (method !== 'HEAD') t.match(JSON.parse(body.toString()), { code: 'invalid_request' });
        await connection.closed;

        const waiting = await open(t);
        waiting.send(`${method} /size HTTP/1.1\r\n${HOST}${fields}\r\n`);
        t.equal((await waiting.response(method === 'HEAD')).status, 400);
        await waiting.closed;

        const smuggler = await open(t);
        const before = outcomes.length;
        smuggler.send(`${method} /size HTTP/1.1\r\n${HOST}${fields}\r\nabcGET / HTTP/1.1\r\n${HOST}\r\n`);
        await smuggler.closed;
        t.equal(outcomes.length, before + 1, 'what follows is not read as a request');
      });

  for (const method of ['get', 'Get', 'head', 'GeT'])
    t.test(`${method} is another method than GET`, async (t) => {
      const connection = await open(t);
      connection.send(`${method} / HTTP/1.1\r\n${HOST}\r\n`);
      const { status, headers } = await connection.response();
      t.match({ status, headers }, { status: 405, headers: { allow: /GET/ } });
    });

  t.test('header values are UTF-8, bytes that are not are refused', async (t) => {
    const connection = await open(t);
    const ask = async (value: Uint8Array | string) => {
      connection.send(
        Buffer.concat([
          Buffer.from(`POST /header/x-note-title HTTP/1.1\r\n${HOST}${EMPTY}X-Note-Title: `),
          Buffer.from(value as string),
          Buffer.from('\r\n\r\n'),
        ]),
      );
      const { status, body } = await connection.response();
      return status === 200 ? JSON.parse(body.toString()) : JSON.parse(body.toString()).code;
    };
    t.equal(await ask('Größe 😀 ok'), 'Größe 😀 ok');
    t.equal(await ask('a\ufffdb'), 'a\ufffdb', 'a replacement character that was sent');
    t.equal(await ask(Buffer.from([0x61, 0xff, 0xfe, 0x62])), 'invalid_request');
    t.equal(await ask(Buffer.from([0x61, 0xc3, 0x28, 0x62])), 'invalid_request');
    t.equal(await ask(''), '', 'present but empty is not absent');
    for (const whole of ['éaé', 'Café', '日本語', '🎉 done 🎉', 'é', '\u00a0a\u00a0'])
      t.equal(await ask(whole), whole, 'both ends are kept');
    t.equal(await ask(' \t é \t '), 'é', 'white space around a value is no part of it');
    t.equal(await ask(' \t '), '');
    for (const broken of [[0x61, 0x80], [0xff, 0x61], [0xc3]])
      t.equal(await ask(Buffer.from(broken)), 'invalid_request', 'also at the ends');
    t.equal(await isAlive(), true);
  });

  for (const method of ['GET', 'POST'])
    t.test(`several lines of one name in a ${method}`, async (t) => {
      const connection = await open(t);
      const ask = async (name: string, ...values: (string | Uint8Array)[]) => {
        const lines = values.flatMap((value) => [
          Buffer.from(`${name.toUpperCase()}: `),
          Buffer.from(value as string),
          Buffer.from('\r\n'),
        ]);
        connection.send(
          Buffer.concat([
            Buffer.from(`${method} /header/${name} HTTP/1.1\r\n${HOST}${EMPTY}X-Other: 1\r\n`),
            ...lines,
            Buffer.from('\r\n'),
          ]),
        );
        const { status, body } = await connection.response();
        return status === 200 ? JSON.parse(body.toString()) : JSON.parse(body.toString()).code;
      };
      t.equal(await ask('if-none-match', '"a"', '', '"b"'), '"a", , "b"', 'a list');
      t.equal(await ask('cookie', 'a=1', 'b=2'), 'a=1; b=2');
      t.equal(await ask('x-note-tags', '', 'é'), ', é');
      t.equal(await ask('x-note-tags', 'a', Buffer.from([0xff])), 'invalid_request', 'not UTF-8');
      t.equal(
        await ask('range', 'bytes=0-1', 'bytes=2-3'),
        'bytes=0-1, bytes=2-3',
        'its reader ignores a list',
      );
      for (const name of ['x-note-title', 'x-feed-password', 'authorization', 'host', 'x-a'])
        t.equal(await ask(name, 'a', 'a'), 'invalid_request', `${name} has one value`);
      t.equal(await ask('x-note-title', 'Größe'), 'Größe');
      t.equal(await ask('x-note-title', ''), '', 'present but empty is not absent');
      t.equal(await ask('x-b'), null);
      t.equal(await isAlive(), true);
    });

  t.test('15 KB of headers arrive, 17 KB are refused', async (t) => {
    const connection = await open(t);
    connection.send(`GET /header/x-long HTTP/1.1\r\n${HOST}X-Long: ${'a'.repeat(15_000)}\r\n\r\n`);
    t.equal((await connection.response()).body.length, 15_002);
    connection.send(`GET /header/x-long HTTP/1.1\r\n${HOST}X-Long: ${'a'.repeat(17_000)}\r\n\r\n`);
    t.equal((await connection.response()).status, 431);
    await connection.closed;
  });

  t.test('path segments are decoded once', async (t) => {
    const connection = await open(t);
    for (const [path, value] of [
      ['a%20b', 'a b'],
      ['%2525', '%25'],
      ['a%2Fb', 'a/b'],
      ['%E2%82%AC', '€'],
      ['..', '..'],
    ]) {
      connection.send(`GET /segment/${path} HTTP/1.1\r\n${HOST}\r\n`);
      t.equal((await connection.response()).body.toString(), value);
    }
    for (const path of ['%zz', '%', '%ff', '%C3']) {
      connection.send(`GET /segment/${path} HTTP/1.1\r\n${HOST}\r\n`);
      const { status, body } = await connection.response();
      t.equal(status, 400, path);
      t.match(JSON.parse(body.toString()), { code: 'invalid_request' });
    }
  });

  for (const path of ['/size', '/pieces', '/late']) {
    t.test(`${path}: bodies by length, byte by byte, chunked, and none`, async (t) => {
      const connection = await open(t);
      connection.send(`POST ${path} HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`);
      t.equal((await connection.response()).body.toString(), '5');
      connection.send(`POST ${path} HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\n`);
      for (const byte of 'hello') {
        connection.send(byte);
        await delay(5);
      }
      t.equal((await connection.response()).body.toString(), '5');
      connection.send(`POST ${path} HTTP/1.1\r\n${HOST}${EMPTY}\r\n`);
      t.equal((await connection.response()).body.toString(), '0');
      connection.send(`POST ${path} HTTP/1.1\r\n${HOST}Content-Length: 3000000\r\n\r\n`);
      connection.send(Buffer.alloc(3_000_000));
      t.equal((await connection.response()).body.toString(), '3000000');
      connection.send(`POST ${path} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
      await delay(5);
      connection.send('2\r\nde\r\n0\r\n\r\n');
      t.equal((await connection.response()).body.toString(), '5');
      t.equal(server.bodies.used, 0);
    });

    t.test(`${path}: too large is refused early by its length, later without one`, async (t) => {
      const connection = await open(t);
      connection.send(`POST ${path} HTTP/1.1\r\n${HOST}Content-Length: 5000001\r\n\r\n`);
      t.equal((await connection.response()).status, 413, 'before any of the body');
      await connection.closed;

      const chunked = await open(t);
      chunked.send(`POST ${path} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`);
      const chunk = Buffer.concat([Buffer.from('f4240\r\n'), Buffer.alloc(1_000_000), Buffer.from('\r\n')]);
      for (let i = 0; i < 7 && !chunked.isClosed; i++) chunked.send(chunk);
      t.equal((await chunked.response()).status, 413);
      await chunked.closed;
      t.equal(server.bodies.used, 0);
      t.equal(await isAlive(), true);
    });
  }

  t.test('a chunk that is none is 400', async (t) => {
    const connection = await open(t);
    connection.send(`POST /size HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n`);
    t.equal((await connection.response()).status, 400);
    await connection.closed;
    t.equal(server.bodies.used, 0);
  });

  t.test('Expect: 100-continue', async (t) => {
    const connection = await open(t);
    connection.send(`POST /size HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n`);
    t.equal((await connection.response()).status, 100);
    connection.send('abc');
    t.equal((await connection.response()).body.toString(), '3');
  });

  t.test('after a refusal the connection goes on where at most 1 MiB is left of the body', async (t) => {
    const connection = await open(t);
    connection.send(`POST /refuse HTTP/1.1\r\n${HOST}Content-Length: 1048576\r\n\r\n`);
    t.equal((await connection.response()).status, 415, 'answered before the body');
    connection.send(Buffer.alloc(1_048_576));
    connection.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    t.equal((await connection.response()).body.toString(), 'hello');
    connection.send(`POST /refuse HTTP/1.1\r\n${HOST}Content-Length: 1048577\r\n\r\n`);
    const { status, headers } = await connection.response();
    t.equal(status, 415);
    t.equal(headers.connection, 'close');
    await connection.closed;
  });

  t.test('a refused chunked body that goes on closes the connection', async (t) => {
    const connection = await open(t);
    connection.send(`POST /refuse HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`);
    const chunk = Buffer.concat([Buffer.from('186a0\r\n'), Buffer.alloc(100_000), Buffer.from('\r\n')]);
    for (let i = 0; i < 15; i++) connection.send(chunk);
    t.equal((await connection.response()).status, 415);
    await connection.closed;
  });

  t.test('a client that goes away at any moment', async (t) => {
    const request = `POST /size HTTP/1.1\r\n${HOST}Content-Length: 3000000\r\n\r\n`;
    for (const sent of [0, 10, request.length - 1, request.length, request.length + 1_000_000]) {
      const connection = await RawConnection.open(server.port);
      connection.send(Buffer.concat([Buffer.from(request), Buffer.alloc(3_000_000)]).subarray(0, sent));
      await delay(20);
      connection.close();
      await connection.closed;
    }
    const before = aborted;
    const waiting = await RawConnection.open(server.port);
    waiting.send(`GET /wait HTTP/1.1\r\n${HOST}\r\n`);
    await delay(20);
    waiting.close();
    while (aborted === before || server.bodies.used > 0) await delay(5);
    t.equal(outcomes.at(-1)?.status, 499);
    t.equal(await isAlive(), true);
  });

  t.test('an answer in chunks, and one that breaks off', async (t) => {
    const connection = await open(t);
    connection.send(`GET /chunks HTTP/1.1\r\n${HOST}\r\n`);
    const { body } = await connection.response();
    t.equal(body.length, 1_000_000);
    t.ok(body.subarray(990_000).every((byte) => byte === 99));
    connection.send(`GET /empty-stream HTTP/1.1\r\n${HOST}\r\n`);
    t.match(await connection.response(), { status: 200, headers: { 'content-length': '0' } });
    connection.send(`GET /broken-stream HTTP/1.1\r\n${HOST}\r\n`);
    await t.rejects(connection.response(), 'the connection ends before the promised length');
    t.match(outcomes.at(-1), { status: 500, error: { message: 'the disk is gone' } });
    const other = await open(t);
    other.send(`GET /broken-by-refusal HTTP/1.1\r\n${HOST}\r\n`);
    await t.rejects(other.response());
    t.match(outcomes.at(-1), { status: 503, code: 'busy', error: undefined });
  });

  t.test('answers without a body', async (t) => {
    const connection = await open(t);
    for (const [status, length] of [
      [204, undefined],
      [304, undefined],
      [303, '0'],
    ]) {
      connection.send(`GET /status/${status} HTTP/1.1\r\n${HOST}\r\n`);
      const response = await connection.response();
      t.equal(response.status, status);
      t.equal(response.headers['content-length'], length);
    }
    t.equal(await isAlive(), true);
  });

  t.test('many requests on one connection, refused ones among them', async (t) => {
    const connection = await open(t);
    for (let i = 0; i < 20; i++) {
      connection.send(`GET /nothing/here HTTP/1.1\r\n${HOST}\r\n`);
      t.equal((await connection.response()).status, 404);
      connection.send(`POST /size HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\nhi`);
      t.equal((await connection.response()).body.toString(), '2');
      connection.send(`HEAD / HTTP/1.1\r\n${HOST}\r\n`);
      const head = await connection.response(true);
      t.equal(head.headers['content-length'], '5');
    }
  });
});

t.test('who wants to hear of errors only hears of them', async (t) => {
  const errors: Outcome[] = [];
  const server = await listen(t, operations, { observeErrors: (outcome) => errors.push(outcome) });
  for (const path of ['/', '/nowhere', '/%ff', '/throw/sync', '/', '/throw/async'])
    await (await fetch(`http://127.0.0.1:${server.port}${path}`)).arrayBuffer();
  t.match(errors, [{ status: 500, error: { message: 'on purpose' } }, { status: 500 }]);
  t.equal(errors.length, 2);
});
