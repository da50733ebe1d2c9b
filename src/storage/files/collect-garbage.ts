import { Session } from 'node:inspector/promises';

/**
 * Returns the memory of a burst of work to the system, which V8 would keep. Stops the thread for some ms (0.2 s with a
 * heap of 100 MB), so call it when nothing waits. Through the inspector, because the flag `--expose-gc` is one of the
 * process: a thread that starts while it is set may fail to.
 */
export async function collectGarbage(): Promise<void> {
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
