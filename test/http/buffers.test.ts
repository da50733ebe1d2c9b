import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { BufferPool } from '../../src/http/buffers.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

t.test('a buffer that was given back is used again for the same size', async (t) => {
  const pool = new BufferPool(MIB);
  const buffer = pool.take(200 * KIB);
  t.not(pool.take(200 * KIB), buffer, 'not while it is in use');
  pool.give(buffer);
  t.not(pool.take(100 * KIB), buffer, 'nor for a much smaller body');
  t.equal(pool.take(195 * KIB), buffer);
});

t.test('a buffer is large enough, and at most a third of it idle', async () => {
  const pool = new BufferPool(0);
  fc.assert(
    fc.property(fc.oneof(fc.nat(6 * MIB), fc.nat(20 * KIB)), (size) => {
      const { byteLength } = pool.take(size);
      assert.ok(byteLength >= size);
      assert.ok(size <= 4 * KIB ? byteLength === 4 * KIB : byteLength <= size * 1.5);
    }),
    { numRuns: 200, examples: [[0], [1], [4 * KIB], [4 * KIB + 1], [6 * KIB], [6 * KIB + 1], [5 * MIB]] },
  );
});

t.test('a buffer in use does not count as kept', async (t) => {
  const pool = new BufferPool(8 * KIB);
  const buffer = pool.take(8 * KIB);
  for (let i = 0; i < 5; i += 1) {
    pool.give(buffer);
    t.equal(pool.take(8 * KIB), buffer);
  }
});

t.test('what is kept has a bound', async (t) => {
  const pool = new BufferPool(8 * KIB);
  const buffers = [pool.take(1), pool.take(1), pool.take(1)];
  for (const buffer of buffers) pool.give(buffer);
  const again = [pool.take(1), pool.take(1), pool.take(1)];
  t.equal(again.filter((buffer) => buffers.includes(buffer)).length, 2);
});

t.test('a size that nobody asks for any more gives way to one that is asked for', async (t) => {
  const pool = new BufferPool(MIB);
  pool.give(pool.take(MIB));
  const small = pool.take(KIB);
  pool.give(small);
  t.equal(pool.take(KIB), small);
});

t.test('a size that is asked for does not give way to one that was asked for before it', async (t) => {
  const pool = new BufferPool(MIB);
  const large = pool.take(MIB);
  const small = pool.take(KIB);
  pool.give(small);
  pool.give(large);
  t.equal(pool.take(KIB), small);
});

t.test('a buffer larger than all that is kept drives nothing out', async (t) => {
  const pool = new BufferPool(MIB);
  const small = pool.take(KIB);
  pool.give(small);
  pool.give(pool.take(2 * MIB));
  t.equal(pool.take(KIB), small);
});

t.test('what is kept gives way to what is in use', async (t) => {
  const pool = new BufferPool(MIB);
  const kept = [pool.take(512 * KIB), pool.take(512 * KIB)];
  for (const buffer of kept) pool.give(buffer);
  pool.take(256 * KIB);
  t.ok(kept.includes(pool.take(512 * KIB)), 'there is room for one beside it');
  t.notOk(kept.includes(pool.take(512 * KIB)), 'but not for both');
});

t.test('no two requests ever hold one buffer, and what is kept stays bounded', async () => {
  const step = fc.record({ size: fc.constantFrom(1, 5000, 7000, 30_000, 60_000, 200_000), pick: fc.nat(9) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const keep = 128 * KIB;
      const pool = new BufferPool(keep);
      const held: SharedArrayBuffer[] = [];
      const seen = new Set<SharedArrayBuffer>();
      for (const { size, pick } of steps) {
        const buffer = pool.take(size);
        assert.ok(!held.includes(buffer));
        held.push(buffer);
        seen.add(buffer);
        if (pick < 6) pool.give(held.splice(pick % held.length, 1)[0]!);
      }
      for (const buffer of held) pool.give(buffer);
      let reused = 0;
      for (const size of [4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128].map((kib) => kib * KIB))
        for (let buffer = pool.take(size); seen.has(buffer); buffer = pool.take(size)) reused += size;
      assert.ok(reused <= keep, `kept ${reused}`);
    }),
  );
});
