import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { settledAt } from '../../src/http/conditional.ts';

/** How long a test waits for what has to come, ms: a machine that does much else may be many times slower. */
export const PATIENCE_MS = 180_000;
/** Before the second question, and the longest between two, ms: to ask takes time from what is waited for. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [10, 50];

/** Asks again and again until the answer is true, for `PATIENCE_MS` at most; returns the last answer. */
export async function eventually(ask: () => Promise<boolean> | boolean): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  for (let pause = FIRST_PAUSE_MS; performance.now() < end; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    if (await ask()) return true;
    await delay(pause);
  }
  return ask();
}

/**
 * What is shown when two looks in a row show the same: a text that could not be rendered in time, as on a busy machine,
 * shows in another form until it is. Throws if no two looks do within `PATIENCE_MS`.
 */
export async function settled<T>(look: () => Promise<T>): Promise<T> {
  let shown = await look();
  const isSettled = await eventually(async () => {
    const before = shown;
    shown = await look();
    return isDeepStrictEqual(before, shown);
  });
  if (!isSettled) throw new Error('No two looks in a row show the same');
  return shown;
}

/** Waits until what changed so far has a `Last-Modified`. */
export async function untilDated(): Promise<void> {
  for (const settled = settledAt(Date.now()); Date.now() < settled; ) await delay(settled - Date.now());
}
