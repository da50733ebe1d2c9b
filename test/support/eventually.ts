import { setTimeout as delay } from 'node:timers/promises';

const MAX_MS = 60_000;

/** Asks again and again until the answer is true, for a minute at most; returns the last answer. */
export async function eventually(ask: () => Promise<boolean> | boolean): Promise<boolean> {
  for (const end = performance.now() + MAX_MS; performance.now() < end; await delay(10))
    if (await ask()) return true;
  return ask();
}
