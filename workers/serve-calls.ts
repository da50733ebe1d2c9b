import { parentPort } from 'node:worker_threads';
import { nice } from '@napi-rs/nice';
import { toFailure } from '../src/storage/failures.ts';
import { type Call, CLOSE, type Reply, type WorkerMessage } from '../src/storage/thread-calls.ts';
import { STORAGE_NICE } from '../src/task-limit.ts';

/** What a thread does with its calls. */
interface Handler {
  run(calls: readonly Call[]): void;
  /** Closes everything. */
  close(): void;
}

/** Serves the calls of `ThreadCalls` on this thread until `CLOSE`; reports why if it cannot start. */
export function serveCalls(open: () => Handler): void {
  nice(STORAGE_NICE);
  try {
    const handler = open();
    parentPort?.on('message', (message: readonly Call[] | typeof CLOSE) => {
      if (message !== CLOSE) return handler.run(message);
      handler.close();
      process.exit();
    });
    post({ started: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Errors of our own are sentences already; those of SQLite and of the system may name a path.
    const refused =
      code === undefined ? message : `The database (SERVICE_DATABASE_URL) cannot be opened (${code}).`;
    post({ refused });
  }
}

/** Ends this thread after its replies if it must open its medium anew: the next call starts another one. */
export function endIfLost({ isLost }: { readonly isLost: boolean }): void {
  if (isLost) process.exit();
}

export function post(message: WorkerMessage, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, [...transfer]);
}

/** Calls a method of `target`; `asRefusal` says what its errors mean. */
export function callMethod(
  target: object,
  { id, method, args }: Call,
  asRefusal = (error: unknown): unknown => error,
): Reply {
  try {
    const called = (target as Record<string, (...args: readonly unknown[]) => unknown>)[method]!;
    return { id, result: called.apply(target, [...args]) };
  } catch (error) {
    return { id, failure: toFailure(asRefusal(error)) };
  }
}
