import { Pool, type PoolClient, type QueryResultRow } from 'pg';
import { connectionOptions } from './connection-options.ts';
import { asFailure, endsConnection } from './failures.ts';
import type { Statement } from './statement.ts';

/** Connections for reading, and as many for writing, at most. */
const CONNECTIONS = 4;

/**
 * The connections to a database. They are opened when they are needed and opened anew when they were lost; nothing
 * waits for longer than `connectionOptions` lets it. Failures of the database are thrown as `asFailure` makes them.
 */
export class Database {
  readonly #reading: Pool;
  readonly #writing: Pool;
  readonly #writers = new Set<number>();

  /** Connects to nothing yet. Throws for a URL that cannot be read. */
  constructor(url: string) {
    const options = { ...connectionOptions(url), max: CONNECTIONS };
    this.#reading = new Pool(options);
    // Statements that do not need each other's results go out together.
    this.#writing = new Pool({ ...options, pipeline: true });
    // An idle connection that is lost is gone from its pool by itself.
    for (const pool of [this.#reading, this.#writing]) pool.on('error', () => {});
    this.#writing.on('connect', (client) => this.#writers.add(processIdOf(client)));
    this.#writing.on('remove', (client) => this.#writers.delete(processIdOf(client)));
  }

  /** Whether a server process is the one of a live connection by which this process writes. */
  isOwnWriter(serverProcessId: number): boolean {
    return this.#writers.has(serverProcessId);
  }

  /** The rows of one statement that changes nothing. */
  async read<R extends QueryResultRow>({ name, text }: Statement<R>, values: unknown[]): Promise<R[]> {
    try {
      return (await this.#reading.query<R>({ name, text, values })).rows;
    } catch (error) {
      throw asFailure(error);
    }
  }

  /**
   * Runs a work in a transaction, which is committed when the work returns and taken back when it throws. Its
   * statements may be sent without waiting for the results of those before.
   * @throws whatever the work throws; Refusal `store_unavailable` also where nobody knows whether it was committed
   */
  async transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#writer();
    const transaction = new Transaction(client);
    try {
      const [, result] = await Promise.all([transaction.begin(), work(transaction)]);
      await transaction.commit();
      return result;
    } catch (error) {
      await transaction.takeBack();
      throw error;
    } finally {
      client.off('error', ignore);
      client.release(transaction.isLost);
    }
  }

  /** Waits for what runs, then ends all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#reading.end(), this.#writing.end()]);
  }

  async #writer(): Promise<PoolClient> {
    try {
      const client = await this.#writing.connect();
      // Whoever waits for an answer is told; between two statements the next one finds out.
      client.on('error', ignore);
      return client;
    } catch (error) {
      throw asFailure(error);
    }
  }
}

/** The statements of one transaction. */
export class Transaction {
  readonly #client: PoolClient;
  #failure: Error | undefined;
  #isLost = false;
  #isOver = false;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  /** The connection is of no more use. */
  get isLost(): boolean {
    return this.#isLost;
  }

  async run<R extends QueryResultRow>({ name, text }: Statement<R>, values: unknown[]): Promise<R[]> {
    return (await this.#send<R>({ name, text, values })).rows;
  }

  /** Each statement sees what others have committed before it, whatever the server's default is. */
  async begin(): Promise<void> {
    await this.#send({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' });
  }

  async commit(): Promise<void> {
    await this.#send({ text: 'COMMIT' });
  }

  /** What a work that has failed in part still wants to send is not sent: it would be done for good. */
  async takeBack(): Promise<void> {
    if (this.#isLost) return;
    const takenBack = this.#send({ text: 'ROLLBACK' });
    this.#isOver = true;
    await takenBack.catch(() => {});
  }

  async #send<R extends QueryResultRow>(query: { name?: string; text: string; values?: unknown[] }) {
    if (this.#isOver) throw new Error('The transaction is over');
    try {
      return await this.#client.query<R>(query);
    } catch (error) {
      this.#isLost ||= endsConnection(error);
      // Those sent with it fail too, only because it did.
      this.#failure ??= asFailure(error);
      throw this.#failure;
    }
  }
}

function processIdOf(client: PoolClient): number {
  return (client as PoolClient & { readonly processID: number }).processID;
}

function ignore(): void {}
