import { syncBuiltinESMExports } from 'node:module';
import threads, { type Worker, type WorkerOptions } from 'node:worker_threads';
import type { Test } from 'tap';

/** Threads of this process, in their order; `faults` says what goes wrong with the next one. */
export function threadsOf(t: Test) {
  const { Worker: Real } = threads;
  const made: Worker[] = [];
  const faults: ('none is made' | 'it dies' | undefined)[] = [];
  threads.Worker = class extends Real {
    constructor(script: string | URL, options: WorkerOptions) {
      const fault = faults.shift();
      if (fault === 'none is made') throw new Error('no memory');
      super(fault === 'it dies' ? new URL('missing.ts', import.meta.url) : script, options);
      made.push(this);
    }
  };
  syncBuiltinESMExports();
  t.teardown(() => {
    threads.Worker = Real;
    syncBuiltinESMExports();
  });
  return { made, faults };
}
