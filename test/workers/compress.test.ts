import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import t from 'tap';
import { WorkerPool } from '../../src/worker-pool.ts';

const texts = { empty: '', short: 'a', long: 'All work and no play. '.repeat(10_000) };
const unpack = { gzip: gunzipSync, br: brotliDecompressSync };

for (const coding of ['gzip', 'br'] as const) {
  t.test(`what ${coding} makes can be unpacked`, async (t) => {
    const pool = new WorkerPool({ threads: 1, maxQueue: 0 });
    t.teardown(() => pool.drain());
    for (const [what, text] of Object.entries(texts)) {
      const bytes = Buffer.from(text);
      const packed = (await pool.run('compress', { bytes, coding })) as Uint8Array;
      t.equal(unpack[coding](packed).toString(), text, what);
      t.equal(packed.buffer.byteLength, packed.length, `${what}: nothing else comes along`);
      if (text.length > 1_000) t.ok(packed.length < text.length / 100);
    }
  });
}
