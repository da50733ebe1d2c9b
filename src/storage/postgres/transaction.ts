import type { Writable } from 'node:stream';
import type { PoolClient, QueryResult, QueryResultRow } from 'pg';
import { asFailure, endsConnection } from './failures.ts';
import type { Statement } from './statement.ts';

interface Sent {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}

/**
 * The statements of one transaction. They go out in their order without waiting for those before, those of one turn
 * together. The first failure is the transaction's: nothing is sent after it, and what was sent with it fails because
 * of it.
 */
export class Transaction {
  /** Tells it from all others of all processes; without spaces. */
  readonly origin: string;
  readonly #client: PoolClient;
  readonly #stream: Writable;
  #isGathering = false;
  #failure: Error | undefined;
  #isLost = false;

  constructor(client: PoolClient, origin: string) {
    this.origin = origin;
    this.#client = client;
    this.#stream = streamOf(client);
  }

  /** The connection is of no more use. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Each statement sees what others have committed before it, whatever the server's default is. */
  begin(): void {
    this.#sendUnheard({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' });
  }

  /** The rows of a statement. */
  async run<R extends QueryResultRow>({ name, text }: Statement<R>, values: unknown[]): Promise<R[]> {
    return (await this.#send<R>({ name, text, values })).rows;
  }

  /** Runs a statement whose rows nobody wants. When it fails, the transaction cannot be committed. */
  send({ name, text }: Statement<never>, values: unknown[]): void {
    this.#sendUnheard({ name, text, values });
  }

  async commit(): Promise<void> {
    await this.#send({ text: 'COMMIT' });
    // After a failure, what the server did was to take it back.
    if (this.#failure) throw this.#failure;
  }

  /** @param reason why; what a work that has failed in part still wants to send is not sent */
  async takeBack(reason: unknown): Promise<void> {
    this.#failure ??= reason as Error;
    if (!this.#isLost) await this.#query({ text: 'ROLLBACK' }).catch(() => {});
  }

  #sendUnheard(sent: Sent): void {
    this.#send(sent).catch(() => {});
  }

  async #send<R extends QueryResultRow>(sent: Sent): Promise<QueryResult<R>> {
    if (this.#failure) throw this.#failure;
    return this.#query(sent);
  }

  /** A failure is known before anything more can be sent: also one of sending, which the server knows nothing of. */
  #query<R extends QueryResultRow>(sent: Sent): Promise<QueryResult<R>> {
    this.#gather();
    return new Promise((resolve, reject) => {
      this.#client.query<R>(sent, (error: Error | undefined, result) => {
        if (!error) return resolve(result);
        this.#isLost ||= endsConnection(error);
        this.#failure ??= asFailure(error);
        reject(this.#failure);
      });
    });
  }

  /** Each writing to the socket is a system call, and wakes the server. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      this.#stream.uncork();
    });
  }
}

function streamOf(client: PoolClient): Writable {
  return (client as PoolClient & { readonly connection: { readonly stream: Writable } }).connection.stream;
}
