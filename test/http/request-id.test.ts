import t from 'tap';
import type { Outcome } from '../../src/http/exchange.ts';
import { newRequestId } from '../../src/http/exchange.ts';
import { eventually } from '../support/eventually.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

/** More than a socket takes at once. */
const LARGE = 20_000_000;

t.test('an id is 16 hexadecimal characters, and no two are the same', async (t) => {
  const ids = Array.from({ length: 2000 }, newRequestId);
  t.ok(ids.every((id) => /^[0-9a-f]{16}$/.test(id)));
  t.equal(new Set(ids).size, ids.length);
});

t.test('what a request is called and how much it brought and got', async (t) => {
  const outcomes: Outcome[] = [];
  const seen: string[] = [];
  const server = await listen(
    t,
    [
      { id: 'read', method: 'GET', path: '/', handle: () => text(200, 'hello') },
      {
        id: 'take',
        method: 'POST',
        path: '/',
        handle: async (exchange) => {
          seen.push(exchange.requestId);
          await exchange.body(1000);
          return text(200, 'taken');
        },
      },
      { id: 'large', method: 'GET', path: '/large', handle: () => text(200, 'x'.repeat(LARGE)) },
      {
        id: 'fail',
        method: 'GET',
        path: '/fail',
        handle: () => {
          throw new Error('on purpose');
        },
      },
    ],
    { observe: (outcome) => outcomes.push(outcome) },
  );
  const url = `http://127.0.0.1:${server.port}`;
  const ask = async (path: string, init: RequestInit = {}) => {
    const before = outcomes.length;
    const response = await fetch(url + path, init);
    await response.arrayBuffer();
    await eventually(() => outcomes.length > before);
    const outcome = outcomes.at(-1)!;
    return { header: response.headers.get('x-request-id'), outcome, requestId: outcome.request.requestId };
  };

  t.test('a post has its id from the handler to the log', async (t) => {
    const { header, outcome, requestId } = await ask('/', { method: 'POST', body: 'x'.repeat(300) });
    t.strictSame([requestId, header], [seen[0], null]);
    t.match(outcome, { received: 300, bytes: 5 });
  });

  t.test('a read brings nothing, and the answer to HEAD has no body', async (t) => {
    t.match((await ask('/')).outcome, { received: 0, bytes: 5 });
    t.match((await ask('/', { method: 'HEAD' })).outcome, { received: 0, bytes: 0 });
  });

  t.test('an answer that was cut off does not count as sent', async (t) => {
    t.match((await ask('/large')).outcome, { status: 200, bytes: LARGE });
    const before = outcomes.length;
    const connection = await RawConnection.open(server.port);
    connection.send('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => connection.socket.once('data', resolve));
    connection.close();
    await eventually(() => outcomes.length > before);
    t.match(outcomes.at(-1), { status: 499, bytes: 0 });
  });

  t.test('who gets an error of ours can name the request', async (t) => {
    const { header, outcome, requestId } = await ask('/fail');
    t.equal(outcome.status, 500);
    t.match(header, /^[0-9a-f]{16}$/);
    t.equal(header, requestId);
    t.equal((await ask('/nowhere')).header, null, 'an error of theirs has no id');
  });
});
