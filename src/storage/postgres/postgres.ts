import type { FeedName } from '../../feeds/names.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Command, mainNote, type Post } from '../../writing/command.ts';
import type { WritingRules } from '../../writing/decide.ts';
import { BatchedCalls } from '../batcher.ts';
import type { CommitObserver } from '../commit-observer.ts';
import type { Storage, Written } from '../storage.ts';
import { ChangeListener } from './change-listener.ts';
import { CHANGE_CHANNEL, type ChangedFeed, decodeChanges } from './change-notice.ts';
import { Clearing } from './clearing.ts';
import { ClientCounts, type ClientCountsOptions } from './client-counts.ts';
import { connectionOptions } from './connection-options.ts';
import { Database } from './database.ts';
import { asStartFailure, isUniqueViolation, mayWorkAlone } from './failures.ts';
import { keepMovesOut, refuseDuringMove } from './move-lock.ts';
import { PostgresPictures } from './picture-rows.ts';
import { PostgresReads } from './reads.ts';
import { migrate } from './schema.ts';
import { statement, type Transaction } from './transaction.ts';
import { Outrun, type Result, Writes } from './writes.ts';

const USE_TOKEN = statement<{ turn: number }>('use_token')`
  INSERT INTO token_series AS known (id, turn, until)
  VALUES ($1, CASE WHEN $2::integer = 0 THEN 1 ELSE -1 END, $3)
  ON CONFLICT (id) DO UPDATE SET turn = CASE WHEN known.turn = $2::integer THEN $2::integer + 1 ELSE -1 END
  RETURNING turn`;
/** Another container may be using a series: then it is not to be forgotten. */
const FORGET_SERIES = statement('forget_series')`
  DELETE FROM token_series
  WHERE id IN (SELECT id FROM token_series WHERE until <= $1 FOR UPDATE SKIP LOCKED)`;

const DUE_FEEDS = statement<{ name: FeedName }>('due_feeds')`
  SELECT name FROM feeds WHERE due_at <= $1 ORDER BY due_at LIMIT 100`;

/** How often a command is decided again, because another transaction took its name or read id. */
const MAX_ATTEMPTS = 5;

export interface PostgresOptions {
  /** The database, `postgres://…`. A secret: it holds a password. */
  readonly url: string;
  /** The most feeds there may be; 0 is no limit. */
  readonly maxFeeds: number;
  readonly keepDays: number;
  /** Checks licenses; undefined where none is needed. */
  readonly isLicenseValid?: LicenseCheck | undefined;
  readonly log: Pick<Log, 'warn'>;
  /** Observes writes and every commit; optional. */
  readonly commits?: CommitObserver | undefined;
}

/**
 * Opens the storage in a PostgreSQL database (docs/specification.md, "Storage on the database backends"), which several processes
 * may use. Throws an error with a sentence for the operator when it cannot be used.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStorage> {
  try {
    await refuseDuringMove(options.url);
    await migrate(options.url, options.keepDays);
    return await PostgresStorage.start(options);
  } catch (error) {
    throw asStartFailure(error);
  }
}

/** A storage that several processes may use. */
class PostgresStorage extends PostgresReads implements Storage {
  readonly pictureRows: PostgresPictures;
  readonly #rules: WritingRules;
  readonly #posts: BatchedCalls<Post, Written | undefined>;
  readonly #clearing: Clearing;
  /** By running transaction: the keys of feeds that a notice has reported already. */
  readonly #reported = new Map<string, Set<string>>();
  #changesElsewhere: ChangeListener | undefined;

  private constructor({ url, maxFeeds, keepDays, isLicenseValid, commits }: PostgresOptions) {
    super(new Database(url, { onWriter: keepMovesOut }), commits);
    this.#rules = { maxFeeds, keepDays, isLicenseValid };
    this.#posts = new BatchedCalls(
      (posts) => this.#storePosts(posts),
      ({ notes }) => notes.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
    );
    this.#clearing = new Clearing(this.database);
    this.pictureRows = new PostgresPictures(this.database);
  }

  static async start(options: PostgresOptions): Promise<PostgresStorage> {
    const storage = new PostgresStorage(options);
    storage.#changesElsewhere = await ChangeListener.start({
      connection: connectionOptions(options.url),
      channel: CHANGE_CHANNEL,
      onConnect: keepMovesOut,
      onNotice: (payload) => storage.#onNotice(payload),
      onFreshness: (isFresh) => storage.tellFreshness(isFresh),
      log: options.log,
    });
    storage.#clearing.wake();
    return storage;
  }

  /** A series is a row that containers share, and that is locked when a token is used. */
  useToken(series: string, place: number, until: number): Promise<boolean> {
    return this.database.transaction(async (transaction) => {
      transaction.send(FORGET_SERIES, [Date.now()]);
      const [row] = await transaction.run(USE_TOKEN, [series, place, until]);
      return row!.turn > 0;
    });
  }

  async due(now: number): Promise<readonly FeedName[]> {
    const due = await this.database.read(DUE_FEEDS, [now]);
    return due.length > 0 && (await this.pictureRows.leads()) ? due.map(({ name }) => name) : [];
  }

  override onFreshness(listener: (isFresh: boolean) => void): void {
    super.onFreshness(listener);
    if (!this.#changesElsewhere?.isFresh) listener(false);
  }

  /** Counts of clients that the processes share. */
  clientCounts(options: Pick<ClientCountsOptions, 'secret' | 'perMinute'>): ClientCounts {
    const containers = () => this.#changesElsewhere?.listeners ?? 1;
    return new ClientCounts({ ...options, database: this.database, containers });
  }

  /** Only posts come in such numbers that they share transactions. */
  protected async store(command: Command): Promise<Written | undefined> {
    if (command.kind === 'post') return this.#posts.call(command);
    const [result] = await this.#storeAll([command]);
    if (result instanceof Error) throw result;
    if (result && command.kind === 'delete') this.#clearing.wake();
    return result;
  }

  protected async release(): Promise<void> {
    await this.#clearing.stop();
    await this.#changesElsewhere?.close();
    await this.database.close();
  }

  /** Posts with one key come one after the other, because a transaction looks up the notes of keys at its start. */
  async #storePosts(posts: readonly Post[]): Promise<readonly Result[]> {
    const seen = new Set<string>();
    const isLater = posts.map(({ name, notes }) => {
      const key = mainNote(notes)?.meta.key;
      return key !== undefined && seen.size === seen.add(`${name} ${key}`).size;
    });
    if (!isLater.includes(true)) return this.#storeAll(posts);
    const first = [...(await this.#storeAll(posts.filter((_, n) => !isLater[n])))];
    const others = posts.filter((_, n) => isLater[n]);
    // The first are stored, whatever becomes of the others.
    const later = [...(await this.#storePosts(others).catch((error: Error) => others.map(() => error)))];
    return isLater.map((is) => (is ? later : first).shift());
  }

  /** If commands fail together, each is stored by itself, so that a bad one fails alone. */
  async #storeAll(commands: readonly Command[], attempt = 1): Promise<readonly Result[]> {
    try {
      const results = await this.#transaction((transaction) =>
        new Writes(transaction, this.#rules).run(commands),
      );
      this.tellCommit(results.filter((result) => !(result instanceof Error)).length);
      return results;
    } catch (error) {
      if (commands.length > 1 && mayWorkAlone(error)) {
        const results: Result[] = [];
        for (const command of commands)
          results.push(...(await this.#storeAll([command]).catch((error: Error) => [error])));
        return results;
      }
      const isRace = error instanceof Outrun || isUniqueViolation(error);
      if (!isRace || attempt === MAX_ATTEMPTS) throw error;
      return this.#storeAll(commands, attempt + 1);
    }
  }

  /** Reports the changes, once each, also if the result of the commit is unknown. */
  async #transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    let origin = '';
    let done: readonly ChangedFeed[] = [];
    try {
      return await this.database.transaction(async (transaction) => {
        origin = transaction.origin;
        this.#reported.set(origin, new Set());
        const result = await work(transaction);
        done = transaction.changes;
        return result;
      });
    } finally {
      const reported = this.#reported.get(origin);
      this.#reported.delete(origin);
      for (const { key, readIds } of done) if (!reported?.has(key)) this.tellChange({ readIds });
    }
  }

  /** Our own NOTIFY usually arrives after the reply to COMMIT. It counts too, because the reply may be lost. */
  #onNotice(payload: string): void {
    const notice = decodeChanges(payload);
    const reported = this.#reported.get(notice.origin);
    if (this.database.isOwn(notice.origin) && !reported) return;
    for (const { key, readIds } of notice.changes) {
      reported?.add(key);
      this.tellChange({ readIds });
    }
  }
}
