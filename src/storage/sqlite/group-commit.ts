import { Refusal } from '../../refusals.ts';
import { toFailure } from '../failures.ts';
import type { Call, Reply } from '../thread-calls.ts';
import type { Changes } from './changes.ts';
import type { Connection } from './connection.ts';
import { asRefusal } from './failures.ts';
import type { PictureChanges } from './picture-changes.ts';
import { isFull, type WriteLog } from './write-log.ts';

/** Makes changes, many in one commit. */
export class GroupCommit {
  readonly #connection: Connection;
  readonly #changes: Changes;
  readonly #pictures: PictureChanges;
  readonly #log: WriteLog;

  constructor(connection: Connection, changes: Changes, pictures: PictureChanges, log: WriteLog) {
    this.#connection = connection;
    this.#changes = changes;
    this.#pictures = pictures;
    this.#log = log;
  }

  /**
   * Does all calls in one transaction; when that fails, each in one of its own, so that a bad one fails alone. The
   * replies are true: what they call done is durable.
   */
  run(calls: readonly Call[]): Reply[] {
    const { db } = this.#connection;
    try {
      this.#connection.mustBeThere();
      db.exec('BEGIN IMMEDIATE');
      this.#changes.begin();
    } catch (error) {
      return allFailed(calls, error);
    }
    let replies: Reply[];
    try {
      replies = calls.map((call) => this.#reply(call));
      this.#changes.finish();
      db.exec('COMMIT');
    } catch (error) {
      this.#rollBack();
      if (isFull(error)) this.#log.empty();
      if (calls.length === 1) return allFailed(calls, error);
      return calls.flatMap((call) => this.run([call]));
    }
    try {
      this.#connection.mustBeThere();
    } catch (error) {
      return allFailed(calls, error);
    }
    return replies;
  }

  /** A refusal changed nothing. Any other failure may have, so it is thrown. */
  #reply({ id, method, args }: Call): Reply {
    try {
      const target: object = method in this.#pictures ? this.#pictures : this.#changes;
      const change = (target as Record<string, (...args: readonly unknown[]) => unknown>)[method]!;
      return { id, result: change.apply(target, [...args]) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { id, failure: toFailure(error) };
    }
  }

  #rollBack(): void {
    const { db } = this.#connection;
    // SQLite rolls back by itself after a full disk or a failed write.
    if (db.inTransaction) db.exec('ROLLBACK');
    this.#changes.recount();
  }
}

function allFailed(calls: readonly Call[], error: unknown): Reply[] {
  const failure = toFailure(asRefusal(error));
  return calls.map(({ id }) => ({ id, failure }));
}
