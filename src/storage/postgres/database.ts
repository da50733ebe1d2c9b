import { randomBytes } from 'node:crypto';
import { type ClientBase, Pool, type QueryResultRow } from 'pg';
import { type ConnectionLimits, connectionOptions, localSettings } from './connection-options.ts';
import { asFailure } from './failures.ts';
import { MOVE_LOCK } from './move-lock.ts';
import { BEGIN, type Statement, Transaction } from './transaction.ts';
import { WriterClient } from './writer-client.ts';

/** Connections for reading, and as many for writing, at most, unless others are asked for. */
const CONNECTIONS = 4;

/** How a database is used. */
export interface DatabaseOptions {
  /** Runs before a new connection is used for writing; if it throws, the connection is not used. */
  readonly onWriter?: (client: ClientBase) => Promise<void>;
  readonly limits?: ConnectionLimits;
  readonly connections?: number;
  /** A pooler stands before the server and gives each transaction any of its connections: nothing is kept on one. */
  readonly isPooled?: boolean;
}

/**
 * The connections to a database. They are opened on demand, and again after a loss; nothing waits for longer than
 * `connectionOptions` lets it. Failures of the database are thrown as `asFailure` makes them.
 */
export class Database {
  readonly #reading: Pool;
  readonly #writing: Pool;
  /** Identifies these connections among those of all processes. */
  readonly name = randomBytes(12).toString('base64url');
  /** How transactions begin behind a pooler. */
  readonly #pooled: string | undefined;
  #transactions = 0;

  /** Connects to nothing yet. Throws for a URL that cannot be read. */
  constructor(
    url: string,
    { onWriter, limits, connections = CONNECTIONS, isPooled = false }: DatabaseOptions = {},
  ) {
    this.#pooled = isPooled
      ? `${BEGIN}; ${localSettings(limits)}; SELECT pg_advisory_xact_lock_shared(${MOVE_LOCK})`
      : undefined;
    const options = { ...connectionOptions(url, limits), max: connections, Client: WriterClient };
    this.#reading = new Pool(options);
    // Statements that do not need each other's results go out together.
    this.#writing = new Pool({ ...options, pipeline: true, ...(onWriter && { onConnect: onWriter }) });
    // The pool drops an idle connection that is lost.
    for (const pool of [this.#reading, this.#writing]) pool.on('error', () => {});
  }

  /** Whether the transaction of that origin is one of this process. */
  isOwn(origin: string): boolean {
    return origin.startsWith(`${this.name}.`);
  }

  /** The rows of one statement that changes nothing. */
  async read<R extends QueryResultRow>(statement: Statement<R>, values: unknown[]): Promise<R[]> {
    // Settings hold for a transaction only.
    if (this.#pooled !== undefined) return this.write(statement, values);
    const { name, text } = statement;
    try {
      return (await this.#reading.query<R>({ name, text, values })).rows;
    } catch (error) {
      throw asFailure(error);
    }
  }

  /** The rows of one statement, in a transaction of its own. */
  write<R extends QueryResultRow>(statement: Statement<R>, values: unknown[]): Promise<R[]> {
    return this.transaction((transaction) => transaction.run(statement, values));
  }

  /**
   * Runs a task in a transaction, which is committed when it returns and rolled back when it throws.
   * @throws what the task throws; Refusal `store_unavailable` also if it is unknown whether it was committed
   */
  async transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#writing.connect().catch((error) => {
      throw asFailure(error);
    });
    const transaction = new Transaction(client, `${this.name}.${++this.#transactions}`, this.#pooled);
    try {
      transaction.begin();
      const result = await work(transaction);
      await transaction.commit();
      return result;
    } catch (error) {
      await transaction.rollBack(error);
      throw error;
    } finally {
      client.release(transaction.isLost);
    }
  }

  /** Waits for running statements, then ends all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#reading.end(), this.#writing.end()]);
  }
}
