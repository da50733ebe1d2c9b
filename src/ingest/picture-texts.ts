import type { Placed } from '../feeds/references.ts';
import { Refusal } from '../refusals.ts';
import { ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';
import { ClientTurns } from './client-turns.ts';

/** Texts of one client that are read at once: fewer than there are threads, so that nobody waits for slow ones of others. */
const TEXTS_PER_CLIENT = 2;
/** Threads that read texts. Two clients with slow texts leave none to a third, who then waits a time limit at most. */
export const TEXT_THREADS = 4;

/** Who sent a text. */
export interface TextSender {
  /** See `Exchange.client`. */
  readonly client: string;
  /** The client has gone. */
  readonly isAborted: boolean;
}

/** Gives texts the names that their pictures are stored under, on threads that do nothing else. */
export class PictureTexts {
  readonly #pool: WorkerPool;
  readonly #timeLimitMs: number;
  readonly #turns = new ClientTurns(TEXTS_PER_CLIENT);

  /**
   * @param pool of `TEXT_THREADS` threads
   * @param timeLimitMs how long the reading of one text may take, SERVICE_PARSE_TIMEOUT_MS; waiting for a thread does
   * not count
   */
  constructor(pool: WorkerPool, timeLimitMs: number) {
    this.#pool = pool;
    this.#timeLimitMs = timeLimitMs;
  }

  /**
   * The text with the pictures in it; see `placePictures`.
   * @throws Refusal `invalid_body` when reading it takes too much time or memory, `busy`
   */
  place(bytes: Uint8Array, pictures: readonly Placed[], sender: TextSender): Promise<Uint8Array> {
    return this.#turns.run(sender.client, async () => {
      if (sender.isAborted) throw new Refusal('timeout', 'The client has gone.');
      try {
        const limit = { ms: this.#timeLimitMs, counts: 'time' } as const;
        return (await this.#pool.run('rewrite-references', { bytes, pictures }, { limit })) as Uint8Array;
      } catch (cause) {
        throw this.#refusalOf(cause);
      }
    });
  }

  #refusalOf(cause: unknown): unknown {
    if (cause instanceof TaskTimeout)
      return new Refusal(
        'invalid_body',
        `Finding the pictures in the text takes longer than ${this.#timeLimitMs} ms. ` +
          'Make it simpler, or post the pictures first and then the text on its own.',
      );
    return ranOutOfMemory(cause)
      ? new Refusal('invalid_body', 'The text is nested too deep to be read.')
      : cause;
  }
}
