import { setTimeout as wait } from 'node:timers/promises';
import type { Client, ClientConfig, QueryConfig, QueryResultRow } from 'pg';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { CHANGE_CHANNEL } from './change-notice.ts';
import { NOW, type Statement, statement } from './transaction.ts';
import { WriterClient } from './writer-client.ts';

/** Interval between the beginnings of round trips, or of attempts to connect, ms. */
const HEARTBEAT_INTERVAL_MS = 250;
/**
 * How long the result of a round trip is valid, from its beginning, ms: what one container stores has to show in the others
 * within a second.
 */
const HEARTBEAT_TIMEOUT_MS = 800;
/** How long recorded changes are kept, ms of the server's clock, and how long the pause before a round trip may be that finds all of them. */
const KEPT_MS = 60_000;
const MAX_PAUSE_MS = 10_000;
/** How often this process says that it is there, and that old changes can go, ms of the server's clock. */
const TIDY_INTERVAL_MS = 10_000;
/** A process that has stopped still counts for this long, ms, because the requests it granted count in the same window. */
const PROCESS_TTL_MS = 60_000;
/** By how much this process's clock and the server's may differ, ms: by more, two versions may get one date (`settledAt`). */
const CLOCKS_APART_MS = 1_000;
/** The `application_name` of the connection, of which every process has one. */
const LISTENER_NAME = 'note-feed-listener';
const FEATURE_NOT_SUPPORTED = '0A000';

interface State {
  /** The snapshot of this round trip: which transactions it saw. */
  readonly snapshot: string;
  /** The server's clock, ms. */
  readonly now: number;
  readonly processes: number;
  /** Identifies the server, its start, and the files of the tables, which are others after a restore. */
  readonly place: string;
  /** The payloads of the changes that the round trip of $1 did not see yet; none if $1 is null. */
  readonly changes: readonly string[];
}

const ASK = statement<State>('changes_since')`
  SELECT pg_current_snapshot()::text AS snapshot, ${NOW} AS now,
    (SELECT count(*)::integer FROM service_processes WHERE until > ${NOW}) AS processes,
    concat_ws(' ', pg_postmaster_start_time(), pg_relation_filenode(to_regclass('feeds')),
      pg_relation_filenode(to_regclass('notes'))) AS place,
    ARRAY(
      SELECT payload FROM feed_changes WHERE tx >= pg_snapshot_xmax($1::pg_snapshot)
      UNION ALL
      SELECT payload FROM feed_changes WHERE tx = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))
    ) AS changes`;
const COUNT_IN = statement('count_in_process')`
  INSERT INTO service_processes VALUES ($1, ${NOW} + ${PROCESS_TTL_MS})
  ON CONFLICT (name) DO UPDATE SET until = excluded.until`;
const FORGET_PROCESSES = statement('forget_processes')`
  DELETE FROM service_processes
  WHERE name IN (SELECT name FROM service_processes WHERE until <= ${NOW} FOR UPDATE SKIP LOCKED)`;

/** Where changes come from, and who is told of them. */
interface ChangeListenerOptions {
  readonly connection: ClientConfig;
  /** Identifies this process. */
  readonly name: string;
  /** Notices may come, too; false behind a pooler that hands each transaction to another connection. */
  readonly isListening: boolean;
  /** Runs first on every new connection; if it throws, the connection is not used. */
  readonly onConnect?: (client: Client) => Promise<void>;
  /** Called with each payload of a change, also of those that this process made; it may be called twice with one. */
  readonly onChange: (payload: string) => void;
  /** Called now and then with a snapshot that is so old that no process needs the changes which it saw. */
  readonly onOld: (snapshot: string) => void;
  /** See `Storage.onFreshness`. */
  readonly onFreshness: (isFresh: boolean, heardUntil: number) => void;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Finds the changes that any process has committed, on a connection of its own. Every quarter of a second a round trip asks for
 * those that the last one did not see, by the snapshots of both, so none is missing. Notices, which may be lost, only tell
 * sooner. A connection that is lost or hangs is replaced.
 */
export class ChangeListener {
  /** How many processes used the database at a time within the last minute, this one included. */
  processes = 1;
  readonly #options: ChangeListenerOptions;
  readonly #closing = new AbortController();
  #isFresh: boolean | undefined;
  /** When the last round trip began, in `performance.now()` time: all changes until then were found. */
  #heardUntil = 0;
  #last: State | undefined;
  /** The state of a round trip in each interval of the time for which changes are kept. */
  #earlier: Pick<State, 'now' | 'snapshot'>[] = [];
  /** Payloads that came once so far, by a notice or by a round trip: since the last round trip, and before it. */
  #once = new Set<string>();
  #onceBefore = new Set<string>();
  /** The log says that a payload could not be read. */
  #hasWarned = false;
  /** The log says that the clocks differ. */
  #areClocksApart = false;
  #client: Client | undefined;
  /** Fires if the last round trip began too long ago. */
  #expiry: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  private constructor(options: ChangeListenerOptions) {
    this.#options = options;
  }

  /** Throws what the client or `onConnect` throws when it cannot connect. */
  static async start(options: ChangeListenerOptions): Promise<ChangeListener> {
    const listener = new ChangeListener(options);
    await listener.#connect().catch((error) => {
      listener.#disconnect();
      throw error;
    });
    listener.#running = listener.#run();
    return listener;
  }

  get isFresh(): boolean {
    return this.#isFresh === true;
  }

  /** Waits for what runs, at worst for as long as connecting may take. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    this.#disconnect();
    clearTimeout(this.#expiry);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const nextAt = performance.now() + HEARTBEAT_INTERVAL_MS;
      try {
        if (this.#client) await this.#beat(this.#client);
        else await this.#connect();
      } catch {
        // The last round trip stays valid for its time, also without the connection.
        this.#disconnect();
      }
      const left = Math.max(0, nextAt - performance.now());
      await wait(left, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  async #connect(): Promise<void> {
    const client = new WriterClient(this.#options.connection);
    this.#client = client;
    client.on('notification', ({ payload = '' }) => this.#onChange(payload));
    await client.connect();
    await this.#options.onConnect?.(client);
    if (this.#options.isListening) await this.#listen(client);
    await this.#countIn(client);
    // The connection may be to another server, whose transactions have other numbers.
    this.#forget();
    await this.#beat(client);
  }

  async #listen(client: Client): Promise<void> {
    await this.#send(client, { text: `SET application_name = '${LISTENER_NAME}'` });
    try {
      await this.#send(client, { text: `LISTEN ${CHANGE_CHANNEL}` });
    } catch (error) {
      if (errorCode(error) !== FEATURE_NOT_SUPPORTED) throw error;
    }
  }

  /** Forgets the last round trip, because changes between it and the next one may be missed. */
  #forget(): void {
    if (this.#isFresh) this.#tell(false);
    this.#last = undefined;
    this.#earlier = [];
  }

  async #beat(client: Client): Promise<void> {
    const begunAt = performance.now();
    const state = await this.#ask(client);
    const left = begunAt + HEARTBEAT_TIMEOUT_MS - performance.now();
    if (left <= 0) throw new Error('The round trip took too long');
    this.processes = Math.max(1, state.processes);
    this.#compareClocks(Date.now() - state.now, performance.now() - begunAt);
    const last = this.#last;
    const pause = last ? Math.abs(state.now - last.now) : 0;
    if (last && (state.place !== last.place || pause > MAX_PAUSE_MS)) this.#forget();
    else for (const payload of state.changes) this.#onChange(payload);
    this.#last = state;
    this.#heardUntil = begunAt;
    this.#onceBefore = this.#once;
    this.#once = new Set();
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#tell(false), left).unref();
    this.#tell(true);
    const tidiedAt = this.#earlier.at(-1)?.now;
    if (tidiedAt === undefined) this.#earlier.push(state);
    else if (state.now - tidiedAt >= TIDY_INTERVAL_MS) await this.#tidy(client, state);
  }

  /** @param ahead by how much this process's clock is ahead, ms; up to `slack` of it is the time that the answer took */
  #compareClocks(ahead: number, slack: number): void {
    const apart = Math.max(-ahead, ahead - slack);
    if (apart > CLOCKS_APART_MS && !this.#areClocksApart) {
      this.#areClocksApart = true;
      this.#options.log.warn(
        'the clocks of this machine and of the database differ: notes get wrong dates, and expire at wrong times',
        { ahead_ms: ahead },
      );
    } else if (apart < CLOCKS_APART_MS / 2) this.#areClocksApart = false;
  }

  async #ask(client: Client): Promise<State> {
    const { rows } = await this.#query(client, ASK, [this.#last?.snapshot ?? null]);
    return rows[0]!;
  }

  async #tidy(client: Client, state: State): Promise<void> {
    this.#earlier.push(state);
    await this.#countIn(client);
    for (let oldest = this.#earlier[0]!; state.now - oldest.now >= KEPT_MS; oldest = this.#earlier[0]!) {
      this.#options.onOld(oldest.snapshot);
      this.#earlier.shift();
    }
  }

  /** Says that this process is there, and forgets those that are not. */
  async #countIn(client: Client): Promise<void> {
    await this.#query(client, COUNT_IN, [this.#options.name]);
    await this.#query(client, FORGET_PROCESSES, []);
  }

  /** Without a name, because a pooler may hand the next one to a connection that has not prepared it. */
  #query<R extends QueryResultRow>(client: Client, { name, text }: Statement<R>, values: unknown[]) {
    return this.#send<R>(client, { text, values, ...(this.#options.isListening && { name }) });
  }

  #send<R extends QueryResultRow>(client: Client, query: QueryConfig) {
    const limited = { ...query, query_timeout: HEARTBEAT_TIMEOUT_MS };
    return client.query<R>(limited);
  }

  #onChange(payload: string): void {
    if (this.#once.delete(payload) || this.#onceBefore.delete(payload)) return;
    this.#once.add(payload);
    try {
      this.#options.onChange(payload);
    } catch (err) {
      // Every user of the database may notify.
      if (!this.#hasWarned)
        this.#options.log.warn('a notice of a change in the database cannot be read', { err });
      this.#hasWarned = true;
      this.#forget();
    }
  }

  #disconnect(): void {
    // On a connection that hangs this never comes to an end.
    this.#client?.end().catch(() => {});
    this.#client = undefined;
  }

  #tell(isFresh: boolean): void {
    if (isFresh === this.#isFresh) return;
    const { log, onFreshness } = this.#options;
    if (!isFresh) log.warn('changes of other processes are not found: the cache is disabled');
    else if (this.#isFresh === false)
      log.warn('changes of other processes are found again: the cache is enabled');
    this.#isFresh = isFresh;
    onFreshness(isFresh, this.#heardUntil);
  }
}
