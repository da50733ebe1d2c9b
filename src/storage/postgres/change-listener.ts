import { setTimeout as wait } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import type { Log } from '../../telemetry/log.ts';

/** From the beginning of a round trip, or of a try to connect, to that of the next one, in ms. */
const HEARTBEAT_INTERVAL_MS = 250;
/**
 * How long what a round trip showed is taken for true, from its beginning, in ms. What one container stores has to
 * show in the others within a second.
 */
const HEARTBEAT_TIMEOUT_MS = 800;
/** A container that stopped listening still counts for this long, ms, because the requests it granted count in the same window. */
const PEER_TTL_MS = 60_000;
/** The `application_name` of the connection, of which every container has one. */
const LISTENER_NAME = 'note-feed-listener';

/** A round trip, which also tells how many listen, and which files of the server hold the tables: others after a restore. */
const COUNT_LISTENERS =
  'SELECT count(*)::integer AS listeners, ' +
  "concat_ws(' ', pg_relation_filenode(to_regclass('feeds')), pg_relation_filenode(to_regclass('notes'))) AS tables " +
  `FROM pg_stat_activity WHERE datname = current_database() AND application_name = '${LISTENER_NAME}'`;

/** Where change notices come from, and who receives them. */
interface ChangeListenerOptions {
  readonly connection: ClientConfig;
  readonly channel: string;
  /** Runs first on every new connection; if it throws, the connection is not used. */
  readonly onConnect?: (client: Client) => Promise<void>;
  /** Called with the payload of every notice, including those that this process sent. */
  readonly onNotice: (payload: string) => void;
  /** Called with false when notices may be lost, and with true when they arrive again. */
  readonly onFreshness: (isFresh: boolean) => void;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Receives notices of changes on a connection of its own. A round trip on that connection delivers all notices of changes
 * that were committed before it began, so one every quarter of a second shows that none is missing. A connection that is
 * lost or hangs is replaced.
 */
export class ChangeListener {
  /** How many processes listened at a time within the last minute, this one included. */
  listeners = 1;
  readonly #options: ChangeListenerOptions;
  readonly #closing = new AbortController();
  #isFresh: boolean | undefined;
  #tables: string | undefined;
  #countedAt = 0;
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
    const client = new Client(this.#options.connection);
    this.#client = client;
    // The next round trip meets it, too.
    client.on('error', () => {});
    client.on('notification', ({ payload = '' }) => this.#options.onNotice(payload));
    await client.connect();
    await this.#options.onConnect?.(client);
    // Between two connections anything may have been missed.
    if (this.#isFresh) this.#tell(false);
    await this.#roundTrip(
      client,
      `SET application_name = '${LISTENER_NAME}'; LISTEN ${this.#options.channel}`,
    );
    await this.#beat(client);
  }

  async #beat(client: Client): Promise<void> {
    const [row] = await this.#roundTrip(client, COUNT_LISTENERS);
    const { listeners = 1, tables } = row ?? {};
    // Nobody tells of what a restore changes. The next round trip makes the listener fresh again.
    if (tables !== this.#tables && this.#tables !== undefined) this.#tell(false);
    this.#tables = tables;
    const now = performance.now();
    if (listeners < this.listeners && now - this.#countedAt < PEER_TTL_MS) return;
    this.listeners = listeners;
    this.#countedAt = now;
  }

  #disconnect(): void {
    // On a connection that hangs this never comes to an end.
    this.#client?.end().catch(() => {});
    this.#client = undefined;
  }

  async #roundTrip(client: Client, sql: string): Promise<{ listeners?: number; tables?: string }[]> {
    const begunAt = performance.now();
    const query = { text: sql, query_timeout: HEARTBEAT_TIMEOUT_MS };
    const { rows } = await client.query(query);
    const left = begunAt + HEARTBEAT_TIMEOUT_MS - performance.now();
    if (left <= 0) throw new Error('The round trip took too long');
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#tell(false), left).unref();
    this.#tell(true);
    return rows;
  }

  #tell(isFresh: boolean): void {
    if (isFresh === this.#isFresh) return;
    const { log, onFreshness } = this.#options;
    if (!isFresh) log.warn('notices of changes do not arrive: the cache is disabled');
    else if (this.#isFresh === false) log.warn('notices of changes arrive again: the cache is enabled');
    this.#isFresh = isFresh;
    onFreshness(isFresh);
  }
}
