import type { Writable } from 'node:stream';
import type { PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import type { ChangedFeed } from './change-notice.ts';
import { asFailure, endsConnection } from './failures.ts';

/** SQLSTATE of warnings without a code of their own. */
const WARNING = '01000';

/** A statement that each connection prepares when it first needs it. `R` is a row of its result. */
export interface Statement<R extends QueryResultRow> {
  readonly name: string;
  readonly text: string;
  /** Only for the compiler. */
  readonly row?: R;
}

/** The texts of all statements by their names: each has a plan that uses an index, which a test makes sure of. */
export const STATEMENTS = new Map<string, string>();

/** Defines a statement under a name of its own. What is put into its text are constants, never values. */
export function statement<R extends QueryResultRow = never>(name: string) {
  return (parts: TemplateStringsArray, ...constants: (string | number)[]): Statement<R> => {
    if (STATEMENTS.has(name)) throw new TypeError(`There is a statement "${name}" already`);
    const text = String.raw({ raw: parts }, ...constants);
    STATEMENTS.set(name, text);
    return { name, text };
  };
}

/** Each statement sees what others have committed before it, whatever the server's default is. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** The server's clock, ms since the epoch. */
export const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** A transaction that begins so does not wait for the disk: a crash of the server may lose it, but not a part of it. */
export const COMMIT_LATER: Statement<never> = {
  name: 'commit_later',
  text: 'SET LOCAL synchronous_commit = off',
};

/** The columns of rows, as `unnest` takes them. */
export function columnsOf<R>(rows: readonly R[], ...names: readonly (keyof R)[]): unknown[][] {
  return names.map((name) => rows.map((row) => row[name]));
}

/** The columns of rows that are lists. There must be at least one row. */
export function transposed(rows: readonly (readonly unknown[])[]): unknown[][] {
  return rows[0]!.map((_, column) => rows.map((row) => row[column]));
}

/**
 * The statements of one transaction. They go out in their order without waiting for those before, those of one turn
 * together. The first failure is the transaction's: nothing is sent after it, and what was sent with it fails because
 * of it.
 */
export class Transaction {
  /** Identifies it among the transactions of all processes; without spaces. */
  readonly origin: string;
  /** The connection must be closed. */
  isLost = false;
  /** The feeds that it changes, and the payloads by which other processes learn of it. */
  readonly changes: ChangedFeed[] = [];
  readonly payloads: string[] = [];
  readonly #client: PoolClient;
  readonly #stream: Writable;
  readonly #begin: string;
  readonly #isPrepared: boolean;
  #isCorked = false;
  #failure: Error | undefined;

  /** @param pooled how it begins behind a pooler, whose connections prepare no statements */
  constructor(client: PoolClient, origin: string, pooled?: string) {
    this.origin = origin;
    this.#begin = pooled ?? BEGIN;
    this.#isPrepared = pooled === undefined;
    this.#client = client;
    this.#stream = (client as PoolClient & { connection: { stream: Writable } }).connection.stream;
  }

  begin(): void {
    this.#sendUnheard({ text: this.#begin });
  }

  /** The rows of a statement. */
  async run<R extends QueryResultRow>(statement: Statement<R>, values: unknown[]): Promise<R[]> {
    return (await this.#send<R>(this.#prepared(statement, values))).rows;
  }

  /** Runs a statement without waiting for it. If it fails, the transaction cannot be committed. */
  send(statement: Statement<never>, values: unknown[]): void {
    this.#sendUnheard(this.#prepared(statement, values));
  }

  async commit(): Promise<void> {
    this.#client.on('notice', this.#onNotice);
    await this.#send({ text: 'COMMIT' }).finally(() => this.#client.off('notice', this.#onNotice));
    // After a failure the server rolled back.
    if (this.#failure) throw this.#failure;
  }

  /** @param reason fails what the task still sends */
  async rollBack(reason: unknown): Promise<void> {
    this.#failure ??= reason as Error;
    if (!this.isLost) await this.#query({ text: 'ROLLBACK' }).catch(() => {});
  }

  #prepared({ name, text }: Statement<QueryResultRow>, values: unknown[]): QueryConfig {
    return this.#isPrepared ? { name, text, values } : { text, values };
  }

  /** Somebody ended the wait for the standby: then the server commits, but a failover may lose the transaction. */
  readonly #onNotice = ({ code }: { readonly code: string | undefined }) => {
    if (code === WARNING) this.#failure ??= asFailure(new Error('the standby may lack the commit'));
  };

  #sendUnheard(sent: QueryConfig): void {
    this.#send(sent).catch(() => {});
  }

  async #send<R extends QueryResultRow>(sent: QueryConfig): Promise<QueryResult<R>> {
    if (this.#failure) throw this.#failure;
    return this.#query(sent);
  }

  /** Catches the error in the same tick, so nothing is sent after it; client-side errors too, which never reach the server. */
  #query<R extends QueryResultRow>(sent: QueryConfig): Promise<QueryResult<R>> {
    this.#cork();
    return new Promise((resolve, reject) => {
      this.#client.query<R>(sent, (error: Error | undefined, result) => {
        if (!error) return resolve(result);
        this.isLost ||= endsConnection(error);
        this.#failure ??= asFailure(error);
        reject(this.#failure);
      });
    });
  }

  /** Each write to the socket is a system call, and wakes the server. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#stream.uncork();
    });
  }
}

/** Another transaction took a name, a read id or room that this one had found free. This one is rolled back and must be run again. */
export class LostRace extends Error {}
