/**
 * Searches for texts that are rendered on the event loop, or give their titles there, and hold it for long: texts of the
 * marks of markdown, and variations of the slowest found so far. `FUZZ_SECONDS=600` runs it for ten minutes, `FUZZ_SEED` repeats a run.
 */
import { randomInt } from 'node:crypto';
import t from 'tap';
import { titlesAtOnce } from '../../src/read/note-title.ts';
import { renderAtOnce } from '../../src/read/render-at-once.ts';
import { textMaker } from '../support/fuzz/short-texts.ts';

const SECONDS = Number(process.env.FUZZ_SECONDS ?? 12);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
/** What no text may take, ms of CPU; the aim is a tenth of it. */
const MAX_MS = 50;
/** Time after which the CPU time is measured, because the machine has other work; ms. */
const SUSPECT_MS = 3;
/** CPU time is counted in steps of some ms. */
const REPEATS = 10;

t.setTimeout((SECONDS + 300) * 1000);

/** Of the event loop, ms; undefined if the text is left to a thread. */
function timeOf(text: Uint8Array): number | undefined {
  const begunAt = performance.now();
  const { length } = renderAtOnce([text]);
  titlesAtOnce([text]);
  const ms = performance.now() - begunAt;
  if (ms < SUSPECT_MS) return length === 0 ? undefined : ms;
  const before = process.threadCpuUsage();
  for (let i = 0; i < REPEATS; i++) {
    renderAtOnce([text]);
    titlesAtOnce([text]);
  }
  const { user, system } = process.threadCpuUsage();
  return (user + system - before.user - before.system) / 1000 / REPEATS;
}

t.test('no text holds the event loop', async (t) => {
  const maker = textMaker(SEED);
  const end = performance.now() + SECONDS * 1000;
  let tried = 0;
  let admitted = 0;
  while (performance.now() < end) {
    const text = maker.next();
    const ms = timeOf(Buffer.from(text));
    tried += 1;
    if (ms === undefined) continue;
    admitted += 1;
    maker.keepIfSlow(text, ms);
    if (ms > MAX_MS) t.fail(`${ms.toFixed(1)} ms: ${JSON.stringify(text)}`);
  }
  const [worst] = maker.slowest;
  t.comment(
    `seed ${SEED}: ${tried} texts, ${admitted} of them rendered at once; ` +
      `the slowest in ${worst?.ms.toFixed(2)} ms of CPU: ${JSON.stringify(worst?.text)}`,
  );
  t.ok(admitted > 0);
});
