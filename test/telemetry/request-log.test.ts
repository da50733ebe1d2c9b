import t from 'tap';
import type { Outcome } from '../../src/http/exchange.ts';
import { requestLog } from '../../src/telemetry/events.ts';
import { collectedLog } from '../support/collected-log.ts';

/** A read of a file, as the front end tells of it. */
const READ: Outcome = {
  request: { requestId: '0123456789abcdef', parameters: ['secret-read-id', 'a-file'] },
  operation: { id: 'file', method: 'GET', path: '/r/{readId}/{file}', handle: () => t.fail() as never },
  method: 'GET',
  status: 200,
  ms: 1.23456,
  received: 0,
  bytes: 10,
  code: undefined,
  error: undefined,
  isLive: false,
};

t.test('a request is one line, with its id and the pattern of its route', async (t) => {
  const { lines, log } = collectedLog();
  const write = requestLog(log);
  write(READ);
  write({ ...READ, operation: undefined, method: 'BREW', status: 404, code: 'not_found' });
  t.strictSame(lines, [
    {
      level: 'info',
      msg: 'request',
      request: '0123456789abcdef',
      method: 'GET',
      route: '/r/{readId}/{file}',
      status: 200,
      ms: 1.235,
      bytes: 10,
    },
    {
      level: 'info',
      msg: 'request',
      request: '0123456789abcdef',
      method: 'other',
      route: 'none',
      status: 404,
      ms: 1.235,
      bytes: 10,
      code: 'not_found',
    },
  ]);
});

t.test('an error of ours is a line of level error', async (t) => {
  const { lines, log } = collectedLog();
  requestLog(log)({ ...READ, status: 500, code: 'internal', error: new Error('on purpose') });
  t.match(lines, [{ level: 'error', request: '0123456789abcdef', err: { message: 'on purpose' } }]);
});

t.test(
  'a request by the name of a feed says which feed by a keyed hash, one by a read id does not',
  async (t) => {
    const { lines, log } = collectedLog();
    const write = requestLog(log);
    const operation = { ...READ.operation!, path: '/api/v1/feeds/{feed}/notes' };
    const named = (parameters: string[]) => ({
      ...READ,
      operation,
      request: { ...READ.request, parameters },
    });
    write(named(['secret-feed']));
    log.hashFeedsWith(Buffer.alloc(32, 1));
    write(named(['secret-feed']));
    write(named(['secret-feed']));
    write(named(['no name of a feed']));
    write(READ);
    log.hashFeedsWith(Buffer.alloc(32, 2));
    write(named(['secret-feed']));
    const [unknown, first, second, ...others] = lines.map(({ feed }) => feed);
    t.equal(unknown, undefined, 'before the secret is known');
    t.match(first, /^[0-9a-f]{12}$/);
    t.equal(second, first);
    t.strictSame(others.slice(0, 2), [undefined, undefined]);
    t.match(others[2], /^[0-9a-f]{12}$/);
    t.not(others[2], first, 'under another secret');
    t.notMatch(JSON.stringify(lines), 'secret-');
  },
);
