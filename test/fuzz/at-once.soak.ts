/**
 * Searches for texts that are rendered on the event loop, or give their titles there, and hold it for long: texts of the
 * marks of markdown, and variations of the slowest found so far. `FUZZ_SECONDS=600` runs it for ten minutes, `FUZZ_SEED` repeats a run.
 */
import { randomInt } from 'node:crypto';
import t from 'tap';
import { loopWork, MAX_LOOP_MS } from '../support/fuzz/loop-time.ts';
import { textMaker } from '../support/fuzz/short-texts.ts';

const SECONDS = Number(process.env.FUZZ_SECONDS ?? 12);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
t.setTimeout((SECONDS + 300) * 1000);

t.test('no text holds the event loop', async (t) => {
  const maker = textMaker(SEED);
  const end = performance.now() + SECONDS * 1000;
  let tried = 0;
  let admitted = 0;
  while (performance.now() < end) {
    const text = maker.next();
    const { rendered, ms } = loopWork(Buffer.from(text));
    tried += 1;
    if (rendered === undefined) continue;
    admitted += 1;
    maker.keepIfSlow(text, ms);
    if (ms > MAX_LOOP_MS) t.fail(`${ms.toFixed(1)} ms: ${JSON.stringify(text)}`);
  }
  const [worst] = maker.slowest;
  t.comment(
    `seed ${SEED}: ${tried} texts, ${admitted} of them rendered at once; ` +
      `the slowest in ${worst?.ms.toFixed(2)} ms of CPU: ${JSON.stringify(worst?.text)}`,
  );
  t.ok(admitted > 0);
});
