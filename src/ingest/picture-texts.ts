import type { Caller } from '../access/access.ts';
import type { StoredPicture } from '../feeds/references.ts';
import { Refusal } from '../refusals.ts';
import type { TaskLimit } from '../task-limit.ts';
import { KeyedLimit, ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';

/** Concurrent texts of one client, waiting ones included. */
const TEXTS_PER_CLIENT = 2;
/** Threads of each pool. A client has one text in each, so nobody takes all. */
export const TEXT_THREADS = 2;
/** A slower text starts again in the pool of slow ones; 100 KB of usual markdown take half of this. */
export const FAST_LIMIT: TaskLimit = { ms: 500, counts: 'cpu time' };

type TextPools = Readonly<Record<'texts' | 'slowTexts', WorkerPool>>;

export type TextSender = Pick<Caller, 'client' | 'isAborted'>;

/** Writes the stored names of pictures into texts, on dedicated threads. */
export class PictureTexts {
  readonly #pools: TextPools;
  readonly #limit: TaskLimit;
  readonly #turns = new KeyedLimit(TEXTS_PER_CLIENT);
  readonly #turnsIn = { texts: new KeyedLimit(1), slowTexts: new KeyedLimit(1) };

  /** @param timeLimitMs for one text, without waiting for a thread (SERVICE_PARSE_TIMEOUT_MS) */
  constructor(pools: TextPools, timeLimitMs: number) {
    this.#pools = pools;
    this.#limit = { ms: timeLimitMs, counts: 'time' };
  }

  /** See `placePictures`. Throws a Refusal `invalid_body` if it takes too much time or memory, `busy`. */
  place(bytes: Uint8Array, pictures: readonly StoredPicture[], sender: TextSender): Promise<Uint8Array> {
    const read = (pool: keyof TextPools, limit: TaskLimit) =>
      this.#turnsIn[pool].run(sender.client, () => {
        if (sender.isAborted) throw new Refusal('timeout', 'The client has gone.');
        return this.#pools[pool].run('rewrite-references', { bytes, pictures }, { limit });
      }) as Promise<Uint8Array>;
    return this.#turns.run(sender.client, async () => {
      try {
        const isShort = this.#limit.ms <= FAST_LIMIT.ms;
        return await read('texts', isShort ? this.#limit : FAST_LIMIT).catch((cause) => {
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
