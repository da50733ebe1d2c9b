import t from 'tap';
import type { Outcome } from '../../src/http/transaction.ts';
import { requestLog } from '../../src/telemetry/events.ts';
import { collectedLog } from '../support/collected-log.ts';

/** A read of a file, as the front end tells of it. */
const READ: Outcome = {
  request: { requestId: '0123456789abcdef' },
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
