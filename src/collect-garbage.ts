import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Returns the memory of a burst of work to the system, which V8 would keep. Stops the thread for some ms (0.2 s with a
 * heap of 100 MB), so call it when nothing waits.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
