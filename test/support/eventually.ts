import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { settledAt } from '../../src/http/conditional.ts';

const MAX_MS = 60_000;

/** Asks again and again until the answer is true, for a minute at most; returns the last answer. */
export async function eventually(ask: () => Promise<boolean> | boolean): Promise<boolean> {
  for (const end = performance.now() + MAX_MS; performance.now() < end; await delay(10))
    if (await ask()) return true;
  return ask();
}

/**
 * What is shown when two looks in a row show the same: a text that could not be rendered in time, as on a busy machine,
 * shows in another form until it is. Throws when that does not happen within a minute.
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
