import { Piscina } from 'piscina';
import { inspect } from '../src/feeds/picture-bytes.ts';
import { WorkerPool } from '../src/worker-pool.ts';

/**
 * Prints what the inspection of a picture costs the event loop, in CPU microseconds per picture (median of the rounds):
 * done on the loop, and through the pool with 1 and with 8 tasks per thread, from a SharedArrayBuffer and from a
 * buffer that has to be copied. `INLINE_MAX_BYTES` in `src/ingest/preparation.ts` comes from here.
 *
 *     node bench/inspect-threshold.ts
 */
const SIZES_KB = [1, 4, 16, 32, 48, 64, 96, 128, 200, 512, 1024];
const ROUNDS = 7;
const IN_FLIGHT = 32;
const THREADS = 2;
/** How much is inspected in a round, so that rounds of all sizes take alike. */
const ROUND_BYTES = 64 * 1024 * 1024;
const MAX_PICTURES = 4_000;

type Inspect = (picture: Uint8Array) => unknown;

const single = new WorkerPool({ threads: THREADS, maxQueue: IN_FLIGHT });
const eight = new Piscina<Uint8Array>({
  filename: new URL('../workers/inspect-picture.ts', import.meta.url).href,
  minThreads: THREADS,
  maxThreads: THREADS,
  concurrentTasksPerWorker: 8,
});
const columns: Record<string, { run: Inspect; shared: boolean }> = {
  loop: { run: inspect, shared: true },
  'pool, 1 a thread': { run: (picture) => single.run('inspect-picture', picture), shared: true },
  'pool, 8 a thread': { run: (picture) => eight.run(picture), shared: true },
  'pool, 8, copied': { run: (picture) => eight.run(picture), shared: false },
};

for (const { run } of Object.values(columns)) await inspectMany(run, pictures(1024, true), 2_000);
const table: Record<string, Record<string, number>> = {};
for (const kb of SIZES_KB) table[`${kb} KB`] = await row(kb * 1024);
console.table(table);
await Promise.all([single.drain(), eight.destroy()]);

async function row(size: number): Promise<Record<string, number>> {
  const count = Math.min(MAX_PICTURES, ROUND_BYTES / size);
  const costs: Record<string, number[]> = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, { run, shared }] of Object.entries(columns)) {
      const cost = await inspectMany(run, pictures(size, shared), count);
      costs[name] = [...(costs[name] ?? []), cost];
    }
  }
  return Object.fromEntries(Object.entries(costs).map(([name, all]) => [name, median(all)]));
}

/** CPU microseconds of the event loop per picture, with `IN_FLIGHT` at once. */
async function inspectMany(run: Inspect, all: readonly Uint8Array[], count: number): Promise<number> {
  const before = process.threadCpuUsage();
  const perPicture = Math.ceil(count / all.length);
  await Promise.all(
    all.map(async (picture) => {
      for (let i = 0; i < perPicture; i += 1) await run(picture);
    }),
  );
  const used = process.threadCpuUsage(before);
  return (used.user + used.system) / (perPicture * all.length);
}

function pictures(size: number, shared: boolean): Uint8Array[] {
  return Array.from({ length: IN_FLIGHT }, () => {
    const buffer = shared ? new SharedArrayBuffer(size) : new ArrayBuffer(size);
    return new Uint8Array(buffer).fill(1);
  });
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor(sorted.length / 2)] as number) * 10) / 10;
}
