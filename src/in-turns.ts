import { setImmediate as nextTurn } from 'node:timers/promises';

/** Does something with each of many items, with at most `count` of them in a turn of the event loop. */
export async function inTurns<T>(items: Iterable<T>, count: number, act: (item: T) => void): Promise<void> {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % count === 0) await nextTurn();
  }
}
