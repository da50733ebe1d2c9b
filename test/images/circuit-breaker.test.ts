import t from 'tap';
import { CircuitBreaker } from '../../src/images/circuit-breaker.ts';

const REQUESTS = 20;
const PROBE_MS = 20;

t.test('no request that waits to be tried again serves as the probe of a store that is down', async (t) => {
  const fail = async () => {
    throw new Error('refused');
  };
  let calls = 0;
  const call = () => {
    calls += 1;
    return fail();
  };
  const breaker = new CircuitBreaker(REQUESTS, fail, PROBE_MS);
  t.teardown(() => breaker.close());
  const all = await Promise.allSettled(Array.from({ length: REQUESTS }, () => breaker.attempt(call)));
  for (const one of all) t.match(one, { status: 'rejected', reason: { code: 'store_unavailable' } });
  t.equal(calls, REQUESTS, 'none is tried again');
  t.ok(breaker.isDown);
});
