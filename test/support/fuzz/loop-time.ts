import type { Rendered } from '../../../src/read/note-text.ts';
import { titlesOnLoop } from '../../../src/read/note-title.ts';
import { renderOnLoop } from '../../../src/read/render-on-loop.ts';

/** What no text may take of the event loop, ms of CPU; the aim is a tenth of it. */
export const MAX_LOOP_MS = 50;
/** Time after which the CPU time is measured, because the machine has other work; ms. */
const SUSPECT_MS = 3;
/** CPU time is counted in steps of some ms. */
const REPEATS = 10;

/** What is done on the event loop with a text by itself, and how long that takes. */
export interface LoopWork {
  /** Undefined if the text is left to a thread. */
  readonly rendered: Rendered | undefined;
  /** CPU time, or, if that is short, the time that has passed. */
  readonly ms: number;
}

export function loopWork(text: Uint8Array): LoopWork {
  const begunAt = performance.now();
  const [rendered] = renderOnLoop([text]);
  titlesOnLoop([text]);
  const ms = performance.now() - begunAt;
  if (ms < SUSPECT_MS) return { rendered, ms };
  const before = process.threadCpuUsage();
  for (let i = 0; i < REPEATS; i++) {
    renderOnLoop([text]);
    titlesOnLoop([text]);
  }
  const { user, system } = process.threadCpuUsage();
  return { rendered, ms: (user + system - before.user - before.system) / 1000 / REPEATS };
}
