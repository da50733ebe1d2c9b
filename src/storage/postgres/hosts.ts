import { EventEmitter } from 'node:events';
import { Client } from 'pg';
import { hostUrls } from '../../database-hosts.ts';
import { errorCode } from '../../system-errors.ts';

/** How long a host may take to say whether it takes writes, ms. */
const ANSWER_MS = 2_000;
/** How long to wait for the other hosts once a host on the highest known timeline has answered, ms. */
const OTHERS_MS = 250;
/** How often the hosts are asked while there are connections, ms. */
const WATCH_MS = 2_000;
/** Differs from the name of other connections, which a move takes for a service that uses the database. */
const ASKING_NAME = 'nf-host-check';

/** The timeline has a number that grows with each promotion; `pg_control_checkpoint` knows it only after the next checkpoint. */
const ROLE = `
  SELECT current_setting('transaction_read_only') = 'on' AS only_reads,
    CASE WHEN NOT pg_is_in_recovery()
    THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END AS timeline`;

/** A host that takes writes. */
interface Writer {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly timeline: number;
}

/**
 * The hosts of a database, of which one takes writes. After a promotion an old primary may come back that takes them, too.
 * So only hosts of the highest timeline that was ever seen here are used, and connections to others are cut.
 * Emits `promoted` when a higher one is seen.
 */
export class Hosts extends EventEmitter<{ promoted: [] }> {
  readonly #urls: readonly string[];
  readonly #connections = new Map<Client, number>();
  #timeline = 0;
  #last = '';
  #search: Promise<Writer> | undefined;
  #watch: NodeJS.Timeout | undefined;

  constructor(urls: readonly string[]) {
    super();
    this.#urls = urls;
  }

  /** The highest timeline that was seen; 0 if none was. */
  get timeline(): number {
    return this.#timeline;
  }

  /** Cuts all connections to hosts of lower timelines, because what is written there is lost. */
  learn(timeline: number): void {
    if (timeline <= this.#timeline) return;
    const isFirst = this.#timeline === 0;
    this.#timeline = timeline;
    if (!isFirst) this.emit('promoted');
    for (const [client, itsTimeline] of this.#connections)
      if (itsTimeline < timeline) client.connection.stream.destroy();
  }

  /** The host that takes writes. Throws an error of the client, or one that says why none is used. */
  writer(): Promise<Writer> {
    this.#search ??= this.#ask().finally(() => {
      this.#search = undefined;
    });
    return this.#search;
  }

  /** Takes a new connection into account until it ends. Throws if a newer timeline was seen meanwhile. */
  add(client: Client, timeline: number): void {
    if (timeline < this.#timeline) throw new Error('another host takes writes now');
    this.#connections.set(client, timeline);
    client.once('end', () => this.#remove(client));
    // A primary that others have left behind answers as before.
    this.#watch ??= setInterval(() => this.writer().catch(() => {}), WATCH_MS).unref();
  }

  #remove(client: Client): void {
    this.#connections.delete(client);
    if (this.#connections.size > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  /** Asks all hosts at once. Does not wait for one that hangs if another one is certainly, or very likely, the newest. */
  async #ask(): Promise<Writer> {
    const known = this.#timeline;
    const found: Writer[] = [];
    const enough = Promise.withResolvers<void>();
    const all = this.#urls.map(async (url) => {
      const writer = await askHost(url);
      found.push(writer);
      this.learn(writer.timeline);
      if (known === 0 || writer.timeline < known) return;
      setTimeout(enough.resolve, writer.timeline > known ? 0 : OTHERS_MS).unref();
    });
    const answers = Promise.allSettled(all);
    await Promise.race([answers, enough.promise]);
    const newest = found.filter(({ timeline }) => timeline === this.#timeline);
    const writer = newest.find(({ url }) => url === this.#last) ?? newest[0];
    if (!writer) throw noWriter(await answers);
    this.#last = writer.url;
    return writer;
  }
}

/** All connections to a database have to agree which host is the newest. */
const hostsByUrl = new Map<string, Hosts>();

/** What is known here of the hosts of a URL; undefined if it names one only. */
export function hostsOf(url: string): Hosts | undefined {
  const urls = hostUrls(url) ?? [];
  if (urls.length < 2) return undefined;
  const hosts = hostsByUrl.get(url) ?? new Hosts(urls);
  hostsByUrl.set(url, hosts);
  return hosts;
}

/** Throws if the host takes no writes. */
async function askHost(url: string): Promise<Writer> {
  const client = new Client({ connectionString: url, application_name: ASKING_NAME });
  client.on('error', () => {});
  const limit = setTimeout(() => client.connection.stream.destroy(new Error('no answer')), ANSWER_MS);
  try {
    await client.connect();
    const { rows } = await client.query<{ only_reads: boolean; timeline: number }>(ROLE);
    const { only_reads, timeline } = rows[0]!;
    if (only_reads) throw new Error('only reads');
    const { host, port } = client;
    return { url, host, port, timeline };
  } finally {
    clearTimeout(limit);
    client.end().catch(() => {});
  }
}

/** Why none of the hosts is used, in their order, without their names. */
function noWriter(answers: readonly PromiseSettledResult<void>[]): Error {
  const errors = answers.map((answer) =>
    answer.status === 'rejected' ? (answer.reason as Error) : undefined,
  );
  const codes = new Set(errors.map(errorCode));
  if (codes.size === 1 && !codes.has(undefined)) return errors[0]!;
  const reasons = errors.map((error) => (error ? (errorCode(error) ?? error.message) : 'has an older state'));
  return new Error(`no host takes writes: ${reasons.join(', ')}`);
}
