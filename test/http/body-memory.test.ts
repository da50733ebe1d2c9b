import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import {
  BodyMemory,
  EarlyBytes,
  leastBodyMemory,
  type Reservation,
  STREAM_MEMORY_BYTES,
} from '../../src/http/body-memory.ts';

const MIB = 1024 * 1024;
/** Longer than any test: who waits is let in by a release, never by the clock. */
const PATIENCE = 600_000;
/** Of 64 MiB, 56 are for admitted bodies and 7 of those for small ones. */
const TOTAL = 64 * MIB;
const LARGEST = 49 * MIB;

const memoryOf = (total = TOTAL, maxWaitMs = PATIENCE) => new BodyMemory({ total, maxWaitMs });
/** Whether a promise is settled by now. */
const isSettled = async (promise: Promise<unknown>) =>
  (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, 'not yet'))])) !== 'not yet';

t.test('what is reserved is used until it is given back, once', async (t) => {
  const memory = memoryOf();
  const one = memory.tryReserve('a', MIB)!;
  const two = memory.tryReserve('b', MIB)!;
  t.equal(memory.used, 2 * MIB);
  one.release();
  one.release();
  t.equal(memory.used, MIB);
  two.release();
  t.equal(memory.used, 0);
});

t.test('how much memory the largest body needs is known beforehand', async () => {
  fc.assert(
    fc.property(fc.integer({ min: STREAM_MEMORY_BYTES, max: 1 << 30 }), (largest) => {
      const least = leastBodyMemory(largest);
      assert.ok(memoryOf(least).tryReserve('a', largest));
      assert.equal(memoryOf(least - 2).tryReserve('a', largest), undefined);
    }),
  );
});

t.test('a streamed body fits beside the smallest pictures', async (t) => {
  t.ok(memoryOf(leastBodyMemory(1)).tryReserve('a', STREAM_MEMORY_BYTES));
});

t.test('a part is kept for small bodies', async (t) => {
  const memory = memoryOf();
  t.ok(memory.tryReserve('a', LARGEST));
  t.equal(memory.tryReserve('b', 128 * 1024 + 1), undefined);
  t.ok(memory.tryReserve('b', 128 * 1024));
});

t.test(
  'one client gets its first body whatever its size, and no more than its share beside it',
  async (t) => {
    const memory = memoryOf();
    t.ok(memory.tryReserve('a', 20 * MIB));
    t.equal(memory.tryReserve('a', 1), undefined);
    t.ok(memory.tryReserve('b', 10 * MIB));
    t.ok(memory.tryReserve('b', 4 * MIB));
    t.equal(memory.tryReserve('b', 1), undefined);
    t.ok(memory.tryReserve('c', 1));
  },
);

t.test('memory that is free is had at once, even by who would wait', async (t) => {
  const memory = memoryOf();
  const reservation = memory.reserve('a', MIB);
  t.ok(await isSettled(reservation));
  (await reservation).release();
});

t.test('who waits is let in by a release, in order, past those that do not fit', async (t) => {
  const memory = memoryOf();
  const holder = memory.tryReserve('a', 40 * MIB)!;
  const other = memory.tryReserve('b', 8 * MIB)!;
  const large = memory.reserve('c', 30 * MIB);
  const small = memory.reserve('d', 8 * MIB);
  other.release();
  t.ok(await isSettled(small));
  t.notOk(await isSettled(large));
  holder.release();
  t.ok(await isSettled(large));
  t.equal(memory.used, 38 * MIB);
});

t.test('one release lets in all who fit then', async (t) => {
  const memory = memoryOf();
  const holder = memory.tryReserve('a', LARGEST)!;
  const waiting = ['b', 'c', 'd', 'e'].map((client) => memory.reserve(client, 10 * MIB));
  holder.release();
  for (const reservation of waiting) t.ok(await isSettled(reservation));
});

t.test('who waits too long is refused, and waits no more', async (t) => {
  const memory = memoryOf(TOTAL, 5);
  const holder = memory.tryReserve('a', LARGEST)!;
  await t.rejects(memory.reserve('b', MIB), {
    code: 'busy',
    status: 503,
    headers: { 'Retry-After': /^\d+$/ },
  });
  t.equal(memory.refused, 1);
  holder.release();
  t.equal(memory.used, 0);
});

t.test('bytes that arrive before their body is admitted have a bound of their own', async (t) => {
  const memory = memoryOf();
  memory.holdEarly('a', 4 * MIB);
  t.throws(() => memory.holdEarly('a', 1), { code: 'busy' }, 'one client gets half of it');
  memory.holdEarly('b', 4 * MIB);
  t.throws(() => memory.holdEarly('c', 1), { code: 'busy' });
  t.equal(memory.used, 8 * MIB, 'what was refused is not held');
  t.equal(memory.refused, 2);
  t.ok(memory.tryReserve('a', LARGEST), 'and take nothing from admitted ones');
  memory.releaseEarly('a', 4 * MIB);
  memory.holdEarly('c', 1);
  t.equal(memory.used, LARGEST + 4 * MIB + 1);
});

t.test('however early bytes are cut, they take at most twice what they are', async (t) => {
  const memory = memoryOf();
  const early = new EarlyBytes(memory, 'a');
  const sent = randomBytes(100_000);
  for (const byte of sent) early.add(new Uint8Array([byte]).buffer);
  t.ok(memory.used <= 2 * sent.length, `${memory.used} bytes`);
  t.same(Buffer.from(early.bytes), sent);
  t.throws(() => early.add(new ArrayBuffer(5 * MIB)), { code: 'busy' });
  t.same(Buffer.from(early.bytes), sent, 'what was refused changes nothing');
  early.release();
  early.release();
  t.equal(memory.used, 0);
});

t.test(
  'under any load the bound holds, nobody who fits is left waiting, and all of it comes back',
  async () => {
    const step = fc.record({
      client: fc.constantFrom('a', 'b', 'c'),
      size: fc.oneof(fc.nat(128 * 1024), fc.integer({ min: MIB, max: LARGEST })),
      releases: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (steps) => {
        const memory = memoryOf();
        const held: { size: number; reservation: Reservation }[] = [];
        let waiting = 0;
        for (const { client, size, releases } of steps) {
          if (releases) held.shift()?.reservation.release();
          waiting += 1;
          void memory.reserve(client, size).then((reservation) => {
            waiting -= 1;
            held.push({ size, reservation });
          });
          await new Promise((resolve) => setImmediate(resolve));
          assert.ok(memory.used <= TOTAL);
          assert.equal(
            memory.used,
            held.reduce((sum, { size }) => sum + size, 0),
          );
          assert.ok(waiting === 0 || held.length > 0, 'somebody waits for nobody');
        }
        while (held.length > 0) {
          held.shift()!.reservation.release();
          await new Promise((resolve) => setImmediate(resolve));
        }
        assert.equal(memory.used, 0);
        assert.equal(waiting, 0);
      }),
      { numRuns: 60 },
    );
  },
);
