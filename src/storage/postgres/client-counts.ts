import { createHmac } from 'node:crypto';
import { BatchedCalls } from '../batcher.ts';
import type { SharedCounts, SharedUsage, UsageReport } from '../storage.ts';
import type { Database } from './database.ts';
import { columnsOf, NOW, statement } from './transaction.ts';

/** The span of time in which requests are counted, ms. */
const WINDOW = 60_000;

/**
 * Counts for many clients in one statement. It locks rows in the order of clients, so that two containers never deadlock. $1
 * are the clients, $2 the requests that each has made, $3 those that it wants, $4 the limit. The clock is the database's. Counts
 * further than a minute from now are dropped, also those in the future, which remain if that clock was set back.
 */
const COUNT = statement<{ client: string; granted: number; total: number; wait_ms: number }>('count_clients')`
  INSERT INTO client_counts AS known (client, times, counts, granted)
  SELECT client, ARRAY[now], ARRAY[done + granted], granted
  FROM (
    SELECT client, done, least(wanted, greatest($4 - done, 0)) AS granted,
      ${NOW} AS now
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
    times[1] + ${WINDOW} - ${NOW} AS wait_ms`;

/** Skips rows that another container is using. */
const FORGET = statement('forget_clients')`
  DELETE FROM client_counts WHERE client IN (
    SELECT client FROM client_counts
    WHERE abs(times[cardinality(times)] - ${NOW}) >= ${WINDOW}
    FOR UPDATE SKIP LOCKED
  )`;

export interface ClientCountsOptions {
  readonly database: Database;
  /** The key of the hashes that stand for clients, so that rows do not show addresses. */
  readonly secret: Uint8Array;
  /** How much a client may do in a minute. */
  readonly perMinute: number;
  /** How many containers use the database now. */
  readonly containers: () => number;
}

/** The client's name is a hash. */
type Report = UsageReport & { readonly client: string };

/** Counts that containers share in the database, many clients in one statement. */
export class ClientCounts implements SharedCounts {
  readonly #options: ClientCountsOptions;
  readonly #calls = new BatchedCalls<Report, SharedUsage>((reports) => this.#count(reports));
  #forgotAt = performance.now();

  constructor(options: ClientCountsOptions) {
    this.#options = options;
  }

  get containers(): number {
    return this.#options.containers();
  }

  count(client: string, report: UsageReport): Promise<SharedUsage> {
    const hash = createHmac('sha256', this.#options.secret).update(client).digest('base64url');
    return this.#calls.call({ ...report, client: hash });
  }

  async #count(reports: readonly Report[]): Promise<SharedUsage[]> {
    const sums = new Map<string, Report>();
    for (const { client, done, wanted } of reports) {
      const before = sums.get(client) ?? { done: 0, wanted: 0 };
      sums.set(client, { client, done: before.done + done, wanted: before.wanted + wanted });
    }
    const { database, perMinute } = this.#options;
    const values = [...columnsOf([...sums.values()], 'client', 'done', 'wanted'), perMinute];
    const counted = new Map((await database.write(COUNT, values)).map((row) => [row.client, row]));
    // A failure here must not hide that the requests are counted: they would be counted again.
    await this.#forget().catch(() => {});
    return reports.map(({ client, wanted }) => {
      const row = counted.get(client)!;
      const isGranted = wanted > 0 && row.granted > 0;
      row.granted -= wanted;
      return { total: row.total, isGranted, waitMs: row.wait_ms };
    });
  }

  /** In passing, once a minute at most. */
  async #forget(): Promise<void> {
    if (performance.now() - this.#forgotAt < WINDOW) return;
    this.#forgotAt = performance.now();
    await this.#options.database.write(FORGET, []);
  }
}
