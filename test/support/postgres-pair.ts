import { eventually } from './eventually.ts';
import { PostgresServer, type Programs } from './postgres.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** A primary and its synchronous standby. */
export class PostgresPair {
  readonly #servers: readonly [PostgresServer, PostgresServer];
  readonly #database: string;
  #primary: PostgresServer;

  private constructor(primary: PostgresServer, standby: PostgresServer, database: string) {
    this.#servers = [primary, standby];
    this.#primary = primary;
    this.#database = database;
  }

  /** @param installed another version than that of npm */
  static async start(t: Scope, installed?: Programs): Promise<PostgresPair> {
    const primary = await PostgresServer.start(t, ['wal_keep_size=256MB'], installed);
    const database = new URL(await primary.database()).pathname.slice(1);
    const pair = new PostgresPair(primary, await primary.standby(t), database);
    await pair.waitForStandby();
    return pair;
  }

  get primary(): PostgresServer {
    return this.#primary;
  }

  get standby(): PostgresServer {
    return this.#servers.find((server) => server !== this.#primary)!;
  }

  /** The database on whichever of both takes writes. */
  get url(): string {
    const hosts = this.#servers.map(({ port }) => `127.0.0.1:${port}`);
    return `postgres://postgres@${hosts.join()}/${this.#database}`;
  }

  /** How many notes one of the servers has. */
  async notesOn(server: PostgresServer): Promise<number> {
    const [row] = await server.sql(
      server.url(this.#database),
      'SELECT count(*)::integer AS notes FROM notes',
    );
    return Number(row?.notes);
  }

  /** Makes the standby the primary. It has no standby then, so it waits for none. */
  async promote(): Promise<void> {
    this.#primary = this.standby;
    await this.#primary.sql('postgres', 'SELECT pg_promote()');
  }

  /** Makes the other server, which was stopped, a standby again. */
  async repair(): Promise<void> {
    await this.standby.follow(this.#primary);
    await this.waitForStandby();
  }

  /** From now on the primary acknowledges nothing that its standby does not have. */
  async waitForStandby(): Promise<void> {
    const run = (sql: string) => this.#primary.sql('postgres', sql);
    await run(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await run('SELECT pg_reload_conf()');
    const inSync = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`;
    await eventually(async () => (await run(inSync)).length > 0);
  }
}
