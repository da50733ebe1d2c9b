import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { CircuitBreaker } from '../../src/images/circuit-breaker.ts';
import { eventually } from '../support/eventually.ts';

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

t.test('a store that is back is used soon, also if the clock was set back meanwhile', async (t) => {
  let isUp = false;
  let probes = 0;
  const call = async () => {
    if (!isUp) throw new Error('refused');
  };
  const probe = async () => {
    probes += 1;
    await call();
  };
  const breaker = new CircuitBreaker(REQUESTS, probe, PROBE_MS);
  t.teardown(() => breaker.close());
  await Promise.allSettled(Array.from({ length: REQUESTS }, () => breaker.attempt(call)));
  t.ok(breaker.isDown);
  const { now } = Date;
  t.intercept(Date, 'now', { value: () => now() - 3_600_000 });
  t.ok(await eventually(() => probes > 1), 'it is asked again and again');
  isUp = true;
  t.ok(await eventually(() => !breaker.isDown));
});

t.test('a store that hangs is asked by one probe at a time', async (t) => {
  const hanging = Promise.withResolvers<void>();
  let probes = 0;
  const probe = () => {
    probes += 1;
    return hanging.promise;
  };
  const fail = async () => {
    throw new Error('refused');
  };
  const breaker = new CircuitBreaker(REQUESTS, probe, PROBE_MS);
  t.teardown(() => breaker.close());
  await Promise.allSettled(Array.from({ length: REQUESTS }, () => breaker.attempt(fail)));
  t.ok(await eventually(() => probes === 1));
  await wait(5 * PROBE_MS);
  t.equal(probes, 1);
  hanging.resolve();
  t.ok(await eventually(() => !breaker.isDown));
});

t.test('what a store answers is told as what it means, and asked for again if that may help', async (t) => {
  for (const [status, name, told, calls] of [
    [507, 'Error', { code: 'storage_full' }, 1],
    [404, 'NoSuchBucket', { code: 'store_unavailable' }, 1],
    [404, 'NotFound', { name: 'NotFound' }, 1],
    [403, 'AccessDenied', { code: 'store_unavailable' }, 1],
    [403, 'RequestTimeTooSkewed', { code: 'store_unavailable' }, 3],
    [429, 'SlowDown', { code: 'store_unavailable' }, 3],
  ] as const) {
    let asked = 0;
    const breaker = new CircuitBreaker(REQUESTS, async () => {}, PROBE_MS);
    const call = async () => {
      asked += 1;
      throw Object.assign(new Error('answered'), { name, $metadata: { httpStatusCode: status } });
    };
    await t.rejects(breaker.attempt(call), told, name);
    t.equal(asked, calls, name);
    breaker.close();
  }
});
