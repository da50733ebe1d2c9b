/**
 * Sends the same bytes to the front end of the service and to `node:http`, and compares the requests that they find: how many,
 * method, target, fields and body. Every difference must be a known one (test/support/fuzz/known-differences.ts).
 * `FRAMES=1000000` sends so many connections, `FUZZ_SEED` repeats a run.
 */
import { randomInt } from 'node:crypto';
import t from 'tap';
import { differenceOf, KNOWN_DIFFERENCES, knownAs } from '../support/fuzz/known-differences.ts';
import { frameMaker, type RawFrames } from '../support/fuzz/raw-frames.ts';
import { nodeReader, serviceReader, type Understanding } from '../support/fuzz/understanding.ts';

const FRAMES = Number(process.env.FRAMES ?? 1_500);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
/** Servers of each kind; each reads one connection after another. */
const AT_ONCE = 16;
const REPORT_EVERY_MS = 60_000;

t.setTimeout((300 + FRAMES / 20) * 1000);

t.test('the service finds the requests that Node finds', async (t) => {
  const next = frameMaker(SEED);
  const counts = new Map<string, number>();
  const startedAt = performance.now();
  let reportedAt = startedAt;
  let made = 0;
  const report = () => {
    const seconds = (performance.now() - startedAt) / 1000;
    const parts = [...counts].sort().map(([name, count]) => `${name}: ${count}`);
    t.comment(`seed ${SEED}: ${made} connections in ${seconds.toFixed(0)} s; ${parts.join(', ')}`);
  };
  const lane = async () => {
    const [service, node] = await Promise.all([serviceReader(t), nodeReader(t)]);
    while (made < FRAMES) {
      made += 1;
      const frames = next();
      const [ours, nodes] = await Promise.all([service.read(frames), node.read(frames)]);
      const name = nameOf(frames, ours, nodes);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      if (performance.now() - reportedAt < REPORT_EVERY_MS) continue;
      reportedAt = performance.now();
      report();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  report();
  t.ok(counts.get('same')! > 0);
  if (FRAMES >= 100_000)
    for (const name of Object.keys(KNOWN_DIFFERENCES)) t.ok(counts.has(name), `${name} is still there`);
});

/** `same`, or the name of a known difference. */
function nameOf(frames: RawFrames, service: Understanding, node: Understanding): string {
  const difference = differenceOf(frames.bytes, service, node);
  if (difference === undefined) return 'same';
  const name = knownAs(difference);
  if (name !== undefined) return name;
  const shown = { cuts: frames.cuts, at: difference.at, service, node };
  const bytes = JSON.stringify(frames.bytes.toString('latin1'));
  throw new Error(`seed ${SEED}: an unknown difference in ${bytes} (latin1): ${JSON.stringify(shown)}`);
}
