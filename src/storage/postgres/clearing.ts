import type { Database } from './database.ts';
import { IF_FREED } from './picture-rows.ts';
import { NOW, statement, type Transaction } from './transaction.ts';

/** A step removes at most this many notes, and stops after about this many bytes of them, so that its statement ends in time. It always removes one. */
const STEP_NOTES = 100;
const STEP_BYTES = 16 * 1024 * 1024;
const STEP_TAGS = 1_000;
/** Retry interval after the database could not be used, ms. */
const RETRY_MS = 10_000;
/** Interval for finishing the clean-up of crashed processes, ms. */
const POLL_MS = 300_000;

const NEXT = statement<{ id: number }>('feed_to_clear')`
  SELECT id FROM feeds WHERE to_clear ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`;
const CLEAR_TAGS = statement<object>('clear_tags')`
  DELETE FROM tags WHERE ctid = ANY (ARRAY(SELECT ctid FROM tags WHERE feed = $1 LIMIT ${STEP_TAGS}))
  RETURNING 1`;
const CLEAR_NOTES = statement<object>('clear_notes')`
  WITH gone AS (
    DELETE FROM notes WHERE ctid = ANY (ARRAY(
      SELECT place FROM (
        SELECT place, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM (
          SELECT ctid AS place, CASE WHEN image_key IS NULL THEN size ELSE 0 END AS bytes
          FROM notes WHERE feed = $1 LIMIT ${STEP_NOTES}
        ) AS next
      ) AS summed WHERE bytes_before < ${STEP_BYTES}
    )) RETURNING image_key
  ), freed AS (
    INSERT INTO freed_keys (key, due_at) SELECT image_key, ${NOW} FROM gone WHERE image_key IS NOT NULL ${IF_FREED}
  ) SELECT 1 FROM gone`;
const CLEARED = statement('cleared')`
  UPDATE feeds SET to_clear = false, note_count = 0, image_count = 0 WHERE id = $1`;

/** Removes the notes of deleted feeds in small steps, also of feeds that another process deleted. */
export class Clearing {
  readonly #database: Pick<Database, 'transaction'>;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Pick<Database, 'transaction'>) {
    this.#database = database;
  }

  /** Call it when a feed was deleted. */
  wake(): void {
    if (this.#isStopped) return;
    this.#isWanted = true;
    this.#running ??= this.#run();
  }

  /** Waits for the step that runs. The rest is left to the next start or another process. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    let pause = POLL_MS;
    try {
      while (this.#isWanted && !this.#isStopped) {
        this.#isWanted = false;
        // A feed may be deleted meanwhile that this step did not see.
        if (await this.#database.transaction((transaction) => clearSome(transaction))) this.#isWanted = true;
      }
    } catch {
      pause = RETRY_MS;
    }
    this.#running = undefined;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), pause).unref();
  }
}

/** Removes some; false if nothing is left that no other process is removing. */
async function clearSome(transaction: Transaction): Promise<boolean> {
  const [feed] = await transaction.run(NEXT, []);
  if (!feed) return false;
  for (const step of [CLEAR_TAGS, CLEAR_NOTES])
    if ((await transaction.run(step, [feed.id])).length > 0) return true;
  transaction.send(CLEARED, [feed.id]);
  return true;
}
