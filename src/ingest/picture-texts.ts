import type { StoredPicture } from '../feeds/references.ts';
import { Refusal } from '../refusals.ts';
import type { TaskLimit } from '../task-limit.ts';
import { ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';
import { ClientTurns } from './client-turns.ts';

/** Texts of one client that are read, or wait for a thread, at once. */
const TEXTS_PER_CLIENT = 2;
/** Threads for all texts, and as many for slow ones. A client has one text on each kind, so nobody takes all. */
export const TEXT_THREADS = 2;
/** A text that takes more than this, of which 100 KB of usual markdown take half, begins anew among the slow ones. */
export const QUICK: TaskLimit = { ms: 500, counts: 'cpu time' };

/** Where texts are read, on `TEXT_THREADS` threads each. */
export interface TextPools {
  readonly texts: WorkerPool;
  readonly slowTexts: WorkerPool;
}

/** Who sent a text. */
export interface TextSender {
  /** See `Exchange.client`. */
  readonly client: string;
  /** The client has gone. */
  readonly isAborted: boolean;
}

/** Gives texts the names that their pictures are stored under, on threads that do nothing else. */
export class PictureTexts {
  readonly #pools: TextPools;
  readonly #limit: TaskLimit;
  readonly #turns = new ClientTurns(TEXTS_PER_CLIENT);
  readonly #turnsIn = { texts: new ClientTurns(1), slowTexts: new ClientTurns(1) };

  /**
   * @param timeLimitMs how long the reading of one text may take, SERVICE_PARSE_TIMEOUT_MS; waiting for a thread does
   * not count
   */
  constructor(pools: TextPools, timeLimitMs: number) {
    this.#pools = pools;
    this.#limit = { ms: timeLimitMs, counts: 'time' };
  }

  /**
   * The text with the pictures in it; see `placePictures`.
   * @throws Refusal `invalid_body` when reading it takes too much time or memory, `busy`
   */
  place(bytes: Uint8Array, pictures: readonly StoredPicture[], sender: TextSender): Promise<Uint8Array> {
    const read = (pool: keyof TextPools, limit: TaskLimit) =>
      this.#turnsIn[pool].run(sender.client, () => {
        if (sender.isAborted) throw new Refusal('timeout', 'The client has gone.');
        return this.#pools[pool].run('rewrite-references', { bytes, pictures }, { limit });
      }) as Promise<Uint8Array>;
    return this.#turns.run(sender.client, async () => {
      try {
        const isShort = this.#limit.ms <= QUICK.ms;
        return await read('texts', isShort ? this.#limit : QUICK).catch((cause) => {
          if (isShort || !(cause instanceof TaskTimeout)) throw cause;
          return read('slowTexts', this.#limit);
        });
      } catch (cause) {
        throw this.#refusalOf(cause);
      }
    });
  }

  #refusalOf(cause: unknown): unknown {
    if (cause instanceof TaskTimeout)
      return new Refusal(
        'invalid_body',
        `Finding the pictures in the text takes longer than ${this.#limit.ms} ms. ` +
          'Make it simpler, or post the pictures first and then the text on its own.',
      );
    return ranOutOfMemory(cause)
      ? new Refusal('invalid_body', 'The text is nested too deep to be read.')
      : cause;
  }
}
