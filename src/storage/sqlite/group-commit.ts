import { Refusal } from '../../refusals.ts';
import type { Changes } from './changes.ts';
import type { Connection } from './connection.ts';
import { toFailure } from './failures.ts';
import type { Answer, Order } from './orders.ts';
import { isFull, type WriteLog } from './write-log.ts';

/** Makes changes, many in one commit. */
export class GroupCommit {
  readonly #connection: Connection;
  readonly #changes: Changes;
  readonly #log: WriteLog;

  constructor(connection: Connection, changes: Changes, log: WriteLog) {
    this.#connection = connection;
    this.#changes = changes;
    this.#log = log;
  }

  /**
   * Does all orders in one transaction; when that fails, each in one of its own, so that a bad one fails alone. The
   * answers are true: what they call done is durable.
   */
  run(orders: readonly Order[]): Answer[] {
    const { db } = this.#connection;
    try {
      this.#connection.mustBeThere();
      db.exec('BEGIN IMMEDIATE');
      this.#changes.begin();
    } catch (error) {
      return allFailed(orders, error);
    }
    let answers: Answer[];
    try {
      answers = orders.map((order) => this.#answer(order));
      this.#changes.finish();
      db.exec('COMMIT');
    } catch (error) {
      this.#takeBack();
      if (isFull(error)) this.#log.empty();
      if (orders.length === 1) return allFailed(orders, error);
      return orders.flatMap((order) => this.run([order]));
    }
    try {
      this.#connection.mustBeThere();
    } catch (error) {
      return allFailed(orders, error);
    }
    return answers;
  }

  /** A refusal has changed nothing; after any other failure nobody knows what was changed, so it is thrown. */
  #answer({ id, method, args }: Order): Answer {
    try {
      const call = this.#changes[method as keyof Changes] as (...args: readonly unknown[]) => unknown;
      return { id, result: call.apply(this.#changes, [...args]) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { id, failure: toFailure(error) };
    }
  }

  #takeBack(): void {
    const { db } = this.#connection;
    // A full disk or a failed write has SQLite take it back by itself.
    if (db.inTransaction) db.exec('ROLLBACK');
    this.#changes.recount();
  }
}

function allFailed(orders: readonly Order[], error: unknown): Answer[] {
  const failure = toFailure(error);
  return orders.map(({ id }) => ({ id, failure }));
}
