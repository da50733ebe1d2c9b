import { parentPort } from 'node:worker_threads';
import { nice } from '@napi-rs/nice';
import { STORAGE_NICE } from '../src/background.ts';
import type { Connection } from '../src/storage/sqlite/connection.ts';
import { asRefusal, toFailure } from '../src/storage/sqlite/failures.ts';
import { type Answer, CLOSE, type Order, type Told } from '../src/storage/sqlite/orders.ts';

/** What does the orders of this thread. */
interface Served {
  readonly connection: Connection;
  work(orders: readonly Order[]): void;
}

/**
 * Makes this thread serve orders until it is told to close. Where it cannot be opened, the other side is told why,
 * and the thread has nothing more to do.
 */
export function serve(open: () => Served): void {
  nice(STORAGE_NICE);
  try {
    const { connection, work } = open();
    parentPort?.on('message', (message: readonly Order[] | typeof CLOSE) => {
      if (message !== CLOSE) return work(message);
      // The last connection to be closed leaves one file without a log.
      connection.db.close();
      process.exit();
    });
    tell({ started: true });
  } catch (error) {
    tell({ refused: sentence(error) });
  }
}

export function tell(told: Told, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(told, [...transfer]);
}

/** Does one order with the methods of `target`. */
export function answerOf(target: object, { id, method, args }: Order): Answer {
  try {
    const call = (target as Record<string, (...args: readonly unknown[]) => unknown>)[method]!;
    return { id, result: call.apply(target, [...args]) };
  } catch (error) {
    return { id, failure: toFailure(error) };
  }
}

/** Errors of our own are sentences already; those of SQLite and of the system may name a path. */
function sentence(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined && asRefusal(error) === error) return message;
  return `The database (SERVICE_DATABASE_URL) cannot be opened (${code ?? message}).`;
}
