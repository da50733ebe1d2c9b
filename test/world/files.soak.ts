// Before whatever makes calls of the system.
import './system-calls.ts';
import t from 'tap';
import { runWorld } from './world.ts';

const STEPS = Number(process.env.WORLD_STEPS ?? 20_000);
const SEED = Number(process.env.WORLD_SEED ?? 1);

t.test('world', async (t) => {
  for (let seed = SEED; seed < SEED + 5; seed++) {
    const begun = performance.now();
    const end = await runWorld(seed, { steps: STEPS });
    t.comment(JSON.stringify({ seed, ms: performance.now() - begun, ...end, failure: undefined }));
    if (end.failure) {
      console.log(end.failure.lines.join('\n'));
      console.log(end.failure.error);
      t.fail(`seed ${seed}`);
      break;
    }
  }
});
