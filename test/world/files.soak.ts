// Before whatever makes calls of the system.
import './system-calls.ts';
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { runWorld } from './world.ts';

const STEPS = Number(process.env.WORLD_STEPS ?? 20_000);
const SEED = Number(process.env.WORLD_SEED ?? 1);

t.test('world', async (t) => {
  for (let seed = SEED; seed < SEED + Number(process.env.WORLD_SEEDS ?? 5); seed++) {
    const begun = performance.now();
    const end = await runWorld(seed, { steps: STEPS, hasFalseSyncs: process.env.WORLD_FALSE !== undefined });
    t.comment(
      JSON.stringify({ seed, ms: performance.now() - begun, ...end, failure: undefined, trace: undefined }),
    );
    if (end.failure) {
      if (process.env.WORLD_TRACE) writeFileSync(process.env.WORLD_TRACE, end.trace.join('\n'));
      console.log(end.failure);
      t.fail(`seed ${seed}`);
      break;
    }
  }
});
