import { createHmac } from 'node:crypto';
import type { SharedCounts, SharedUsage, UsageReport } from '../../access/shared-rate-limit.ts';
import { BatchedCalls } from '../../batcher.ts';
import type { Database } from './database.ts';
import { statement } from './transaction.ts';

/** The span in which is counted, in ms. */
const WINDOW = 60_000;

/**
 * Counts for many clients at once, in the order of their rows, so that two containers never wait for each other. $1 are
 * the clients, $2 what was done and $3 what is wanted for each, $4 the limit. The clock is the database's. What was
 * counted at a time that is far from now, as it is when that clock was set, is forgotten.
 */
const COUNT = statement<{ client: string; granted: number; total: number; wait_ms: number }>('count_clients')`
  INSERT INTO client_counts AS known (client, times, counts, granted)
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
    times[1] + ${WINDOW} - (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS wait_ms`;

/** Another container may be using a row: then it is not to be forgotten. */
const FORGET = statement('forget_clients')`
  DELETE FROM client_counts WHERE client IN (
    SELECT client FROM client_counts
    WHERE abs(times[cardinality(times)] - (extract(epoch FROM clock_timestamp()) * 1000)::bigint) >= ${WINDOW}
    FOR UPDATE SKIP LOCKED
  )`;

export interface ClientCountsOptions {
  readonly database: Pick<Database, 'transaction'>;
  /** With it, rows say nothing of addresses. */
  readonly secret: Uint8Array;
  /** How much a client may do in a minute. */
  readonly perMinute: number;
  /** How many containers use the database now. */
  readonly containers: () => number;
}

/** What a container says of one client, whose name is a hash. */
interface Report extends UsageReport {
  readonly client: string;
}

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
    const sums = new Map<string, { done: number; wanted: number }>();
    for (const { client, done, wanted } of reports) {
      const before = sums.get(client) ?? { done: 0, wanted: 0 };
      sums.set(client, { done: before.done + done, wanted: before.wanted + wanted });
    }
    const all = [...sums.values()];
    const values = [
      [...sums.keys()],
      all.map(({ done }) => done),
      all.map(({ wanted }) => wanted),
      this.#options.perMinute,
    ];
    const rows = await this.#options.database.transaction((transaction) => transaction.run(COUNT, values));
    const counted = new Map(rows.map((row) => [row.client, row]));
    const left = new Map(rows.map(({ client, granted }) => [client, granted]));
    await this.#forget();
    return reports.map(({ client, wanted }) => {
      const { total, wait_ms: waitMs } = counted.get(client)!;
      const granted = left.get(client)!;
      left.set(client, granted - wanted);
      return { total, isGranted: wanted > 0 && granted > 0, waitMs };
    });
  }

  /** In passing, once a minute at most. */
  async #forget(): Promise<void> {
    if (performance.now() - this.#forgotAt < WINDOW) return;
    this.#forgotAt = performance.now();
    await this.#options.database.transaction((transaction) => transaction.run(FORGET, []));
  }
}
