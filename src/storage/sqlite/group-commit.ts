import Database from 'better-sqlite3';
import { Refusal } from '../../refusals.ts';
import type { Changes } from './changes.ts';
import type { Connection } from './connection.ts';
import { toFailure } from './failures.ts';
import type { Answer, Order } from './orders.ts';

/** Makes changes, many in one commit. */
export class GroupCommit {
  readonly #connection: Connection;
  readonly #changes: Changes;

  constructor(connection: Connection, changes: Changes) {
    this.#connection = connection;
    this.#changes = changes;
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
      if (isFull(error)) this.#makeRoom();
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

  /** What was taken back leaves a long log behind. It goes where what it holds has a place in the database. */
  #makeRoom(): void {
    try {
      this.#connection.db.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      if (!isFull(error)) throw error;
    }
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_FULL';
}

function allFailed(orders: readonly Order[], error: unknown): Answer[] {
  const failure = toFailure(error);
  return orders.map(({ id }) => ({ id, failure }));
}
