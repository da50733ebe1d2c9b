import { createHash } from 'node:crypto';
import t from 'tap';
import { INLINE_MAX_BYTES, inspectPicture } from '../../src/ingest/preparation.ts';
import { WorkerPool } from '../../src/worker-pool.ts';

/** A picture of `size` bytes that starts like a GIF, in shared memory as bodies are. */
function gif(size: number): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(size + 16)).subarray(16).fill(7);
  bytes.set(Buffer.from('GIF89a'));
  return bytes;
}

for (const size of [6, INLINE_MAX_BYTES, INLINE_MAX_BYTES + 1, 5 * 1024 * 1024]) {
  t.test(`signature and hash of ${size} bytes`, async (t) => {
    const pool = new WorkerPool({ threads: 1, maxQueue: 1 });
    t.teardown(() => pool.drain());
    const bytes = gif(size);
    const sha256 = createHash('sha256').update(bytes).digest('base64url');
    t.match(await inspectPicture(pool, bytes), { type: 'gif', sha256 });
    bytes[0] = 0;
    t.match(await inspectPicture(pool, bytes), { type: undefined, pixels: undefined });
  });
}

t.test('only small pictures are inspected where there is no pool to take them', async (t) => {
  const stopped = new WorkerPool({ threads: 1, maxQueue: 1 });
  await stopped.drain();
  t.match(await inspectPicture(stopped, gif(INLINE_MAX_BYTES)), { type: 'gif' });
  await t.rejects(inspectPicture(stopped, gif(INLINE_MAX_BYTES + 1)), { code: 'busy' });
});
