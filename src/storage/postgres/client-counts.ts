import { createHmac } from 'node:crypto';
import type { SharedCounts, SharedUsage, UsageReport } from '../../access/shared-rate-limit.ts';
import type { Database } from './database.ts';
import { statement } from './statement.ts';

/** The span in which is counted, in ms. */
const WINDOW = 60_000;

/**
 * Counts for many clients at once, in the order of their rows, so that two containers never wait for each other. $1 are
 * the clients, $2 what was done and $3 what is wanted for each, $4 the limit. The clock is the database's. What was
 * counted at a time that is far from now, as it is when that clock was set, is forgotten.
 */
const COUNT = statement<{ client: string; granted: number; total: number; wait_ms: number }>(
  'count_clients',
  `INSERT INTO client_counts AS known (client, times, counts, granted)
   SELECT client, ARRAY[now], ARRAY[done + granted], granted
   FROM (
     SELECT client, done, least(wanted, greatest($4 - done, 0)) AS granted,
       (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
     FROM unnest($1::text[], $2::integer[], $3::integer[]) AS told (client, done, wanted)
     ORDER BY client COLLATE "C"
   ) AS alone
   ON CONFLICT (client) DO UPDATE SET (times, counts, granted) = (
     WITH recent AS (
       SELECT time, count FROM unnest(known.times, known.counts) AS kept (time, count)
       WHERE abs(excluded.times[1] - time) < ${WINDOW} AND count > 0
     ), more AS (
       SELECT least(excluded.granted, greatest($4 - done - before, 0)) AS granted, done
       FROM (SELECT coalesce(sum(count), 0)::integer AS before FROM recent) AS total,
         (SELECT excluded.counts[1] - excluded.granted AS done) AS told
     ), seconds AS (
       SELECT max(time) AS time, sum(count)::integer AS count
       FROM (TABLE recent UNION ALL SELECT excluded.times[1], done + granted FROM more) AS every
       GROUP BY time / 1000
     )
     SELECT array_agg(time ORDER BY time), array_agg(count ORDER BY time), (SELECT granted FROM more) FROM seconds
   )
   RETURNING client, granted, (SELECT sum(count)::integer FROM unnest(counts) AS count) AS total,
     times[1] + ${WINDOW} - (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS wait_ms`,
);

/** Another container may be using a row: then it is not to be forgotten. */
const FORGET = statement(
  'forget_clients',
  `DELETE FROM client_counts WHERE client IN (
     SELECT client FROM client_counts
     WHERE abs(times[cardinality(times)] - (extract(epoch FROM clock_timestamp()) * 1000)::bigint) >= ${WINDOW}
     FOR UPDATE SKIP LOCKED
   )`,
);

export interface ClientCountsOptions {
  readonly database: Pick<Database, 'transaction'>;
  /** With it, rows say nothing of addresses. */
  readonly secret: Uint8Array;
  /** How much a client may do in a minute. */
  readonly perMinute: number;
  /** How many containers use the database now. */
  readonly containers: () => number;
}

/** What is told of one client together. */
interface Asked {
  done: number;
  wanted: number;
  readonly waiting: (UsageReport & PromiseWithResolvers<SharedUsage>)[];
}

/** Counts that containers share in the database, one statement at a time: what is told meanwhile is one together. */
export class ClientCounts implements SharedCounts {
  readonly #options: ClientCountsOptions;
  #asked = new Map<string, Asked>();
  #isRunning = false;
  #forgotAt = performance.now();

  constructor(options: ClientCountsOptions) {
    this.#options = options;
  }

  get containers(): number {
    return this.#options.containers();
  }

  count(client: string, told: UsageReport): Promise<SharedUsage> {
    const key = createHmac('sha256', this.#options.secret).update(client).digest('base64url');
    const asked = this.#asked.get(key) ?? { done: 0, wanted: 0, waiting: [] };
    this.#asked.set(key, asked);
    asked.done += told.done;
    asked.wanted += told.wanted;
    const answer = Promise.withResolvers<SharedUsage>();
    asked.waiting.push({ ...told, ...answer });
    if (!this.#isRunning) this.#run();
    return answer.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#asked.size > 0) {
      const asked = this.#asked;
      this.#asked = new Map();
      try {
        await this.#ask(asked);
        await this.#forget();
      } catch (error) {
        for (const { waiting } of asked.values()) for (const { reject } of waiting) reject(error);
      }
    }
    this.#isRunning = false;
  }

  async #ask(asked: ReadonlyMap<string, Asked>): Promise<void> {
    const all = [...asked.values()];
    const done = all.map((one) => one.done);
    const wanted = all.map((one) => one.wanted);
    const values = [[...asked.keys()], done, wanted, this.#options.perMinute];
    const rows = await this.#options.database.transaction((transaction) => transaction.run(COUNT, values));
    for (const { client, granted, total, wait_ms: waitMs } of rows) {
      let left = granted;
      for (const { wanted, resolve } of asked.get(client)!.waiting) {
        resolve({ total, isGranted: wanted > 0 && left > 0, waitMs });
        left -= wanted;
      }
    }
  }

  /** In passing, once a minute at most. */
  async #forget(): Promise<void> {
    if (performance.now() - this.#forgotAt < WINDOW) return;
    this.#forgotAt = performance.now();
    await this.#options.database.transaction((transaction) => transaction.run(FORGET, []));
  }
}
