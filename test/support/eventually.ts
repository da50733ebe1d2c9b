import { setTimeout as delay } from 'node:timers/promises';

const MAX_MS = 30_000;

/** Asks again and again until the answer is true, for 30 s at most; returns the last answer. */
export async function eventually(ask: () => Promise<boolean> | boolean): Promise<boolean> {
  for (const end = Date.now() + MAX_MS; Date.now() < end; await delay(20)) if (await ask()) return true;
  return ask();
}
