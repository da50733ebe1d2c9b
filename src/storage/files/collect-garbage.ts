import { Session } from 'node:inspector/promises';
import { getHeapStatistics } from 'node:v8';

/** A heap of so many bytes holds too little garbage to be worth the time. */
const SMALL_HEAP = 32 * 1024 * 1024;

/**
 * Returns the memory of a burst of work to the system, which V8 would keep, if the heap of this thread has grown by it.
 * Stops the thread for some ms (0.2 s with a heap of 100 MB), so call it when nothing waits. Through the inspector, because
 * the flag `--expose-gc` is one of the process: a thread that starts while it is set may fail to.
 */
export async function collectGarbage(): Promise<void> {
  if (getHeapStatistics().total_heap_size < SMALL_HEAP) return;
  const session = new Session();
  try {
    session.connect();
    await session.post('HeapProfiler.collectGarbage');
  } catch {
    // A Node without an inspector keeps the memory.
  } finally {
    session.disconnect();
  }
}
