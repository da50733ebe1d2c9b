import { Session } from 'node:inspector/promises';
import { getHeapStatistics } from 'node:v8';

/** If the heap has grown by fewer bytes, a collection takes more time than its memory is worth. */
const SMALL_GROWTH = 32 * 1024 * 1024;

/** Size of this thread's heap, bytes. */
export function heapSize(): number {
  return getHeapStatistics().total_heap_size;
}

/**
 * Returns the memory of a burst of work to the system, which V8 would keep, if the heap of this thread has grown much by it.
 * Stops the thread for some ms (0.2 s with a heap of 100 MB), so call it when nothing waits. Uses the inspector, because
 * the flag `--expose-gc` is one of the process: a thread that starts while it is set may fail to.
 * @param before `heapSize` before the burst
 */
export async function collectGarbage(before: number): Promise<void> {
  if (heapSize() - before < SMALL_GROWTH) return;
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
