/**
 * The storage on plain files in worlds that follow from a seed: its disk, its clock, its clients, people who change files by
 * hand, failures, kills and power cuts. Nothing in them is real, and all runs in one thread, so a seed always gives the same
 * world. `WORLD_STEPS=1000000` runs worlds of together so many calls of the disk, `WORLD_SEED` begins with another one,
 * `WORLD_TRACE=<file>` writes down what happened in the world that failed.
 */
// Before whatever makes calls of the system.
import './system-calls.ts';
import { writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { runWorld, type WorldEnd } from './world.ts';

const STEPS = Number(process.env.WORLD_STEPS ?? 40_000);
const SEED = Number(process.env.WORLD_SEED ?? 1);
const TRACE = process.env.WORLD_TRACE;
/** Steps of one world. */
const WORLD_STEPS = 20_000;
/** Worlds that are run twice. */
const COMPARED = 2;
/** Lines of the trace that are shown of a world that failed. */
const SHOWN_LINES = 60;
/** A control must have failed after so many worlds. */
const MAX_CONTROLS = 5;

t.setTimeout(0);

function report(t: Test, seed: number, { failure, trace }: WorldEnd): void {
  t.comment(trace.slice(-SHOWN_LINES).join('\n'));
  if (TRACE) writeFileSync(TRACE, trace.join('\n'));
  t.fail(`WORLD_SEED=${seed}: ${failure instanceof Error ? failure.stack : failure}`);
}

t.test('what is acknowledged is there, and what is refused is not, whatever happens', async (t) => {
  const sums = { worlds: 0, steps: 0, operations: 0, deaths: 0, faults: 0 };
  const begunAt = performance.now();
  for (let seed = SEED; sums.steps < STEPS; seed += 1) {
    const end = await runWorld(seed, { steps: Math.min(WORLD_STEPS, STEPS) });
    sums.worlds += 1;
    for (const sum of ['steps', 'operations', 'deaths', 'faults'] as const) sums[sum] += end[sum];
    if (end.failure !== undefined) return report(t, seed, end);
    if (seed < SEED + COMPARED) {
      const again = await runWorld(seed, { steps: Math.min(WORLD_STEPS, STEPS) });
      t.equal(again.hash, end.hash, `the world of the seed ${seed} is always the same`);
    }
  }
  const perHour = Math.round((sums.steps / (performance.now() - begunAt)) * 3_600_000);
  t.comment(JSON.stringify({ ...sums, perHour }));
});

t.test('a disk whose syncs do nothing is found out', async (t) => {
  for (let seed = SEED; seed < SEED + MAX_CONTROLS; seed += 1) {
    const { failure } = await runWorld(seed, { steps: WORLD_STEPS, hasFalseSyncs: true });
    if (failure !== undefined) return t.match(failure, { name: 'Violation' }, `with the seed ${seed}`);
  }
  return t.fail('no world has lost anything');
});
