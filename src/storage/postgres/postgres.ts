import { BatchedCalls } from '../../batcher.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../../feeds/names.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import type { Log } from '../../telemetry/log.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { DatabaseStorage, type Post } from '../database-storage.ts';
import { storedFile } from '../loaded-file.ts';
import type { PictureRows } from '../picture-rows.ts';
import type {
  AllowedFeed,
  Feed,
  FeedCreation,
  FeedLimits,
  FeedSettings,
  Neighbours,
  NewLicense,
  Note,
  NoteMeta,
  Page,
  PageQuery,
  Position,
  Replacement,
  Storage,
  StoredFile,
} from '../storage.ts';
import { ChangeListener } from './change-listener.ts';
import { CHANGE_CHANNEL, type ChangedFeed, decodeChanges } from './change-notice.ts';
import { type Changed, Changes } from './changes.ts';
import { Clearing } from './clearing.ts';
import { ClientCounts, type ClientCountsOptions } from './client-counts.ts';
import { connectionOptions } from './connection-options.ts';
import { Database } from './database.ts';
import { mayWorkAlone } from './failures.ts';
import { keepMovesOut, refuseDuringMove } from './move-lock.ts';
import { PostgresPictures } from './picture-rows.ts';
import { type PostRules, Posts } from './posts.ts';
import { Reads } from './reads.ts';
import { migrate } from './schema.ts';
import { asStartFailure } from './start-failure.ts';
import type { Transaction } from './transaction.ts';
import { useToken } from './used-tokens.ts';

export interface PostgresOptions {
  /** The database, `postgres://…`. A secret: it holds a password. */
  readonly url: string;
  /** The most feeds there may be; 0 is no limit. */
  readonly maxFeeds: number;
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
    await migrate(options.url);
    return await PostgresStorage.start(options);
  } catch (error) {
    throw asStartFailure(error);
  }
}

/** A storage that several processes may use. */
export class PostgresStorage extends DatabaseStorage implements Storage {
  readonly pictureRows: PictureRows;
  readonly #database: Database;
  readonly #rules: PostRules;
  readonly #reads: Reads;
  readonly #posts: BatchedCalls<Post, Feed | undefined>;
  readonly #clearing: Clearing;
  /** Of each transaction that runs, the feeds that notices have told of already, by their keys. */
  readonly #heard = new Map<string, Set<string>>();
  #changesElsewhere: ChangeListener | undefined;

  private constructor({ url, maxFeeds, isLicenseValid, commits }: PostgresOptions) {
    super(commits);
    this.#database = new Database(url, { onWriter: keepMovesOut });
    this.#rules = { maxFeeds, isLicenseValid };
    this.#reads = new Reads(this.#database);
    this.#posts = new BatchedCalls(
      (posts) => this.#storeAll(posts),
      ({ notes }) => notes.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
    );
    this.#clearing = new Clearing(this.#database);
    this.pictureRows = new PostgresPictures(this.#database);
  }

  static async start(options: PostgresOptions): Promise<PostgresStorage> {
    const storage = new PostgresStorage(options);
    storage.#changesElsewhere = await ChangeListener.start({
      connection: connectionOptions(options.url),
      channel: CHANGE_CHANNEL,
      onConnect: keepMovesOut,
      onNotice: (payload) => storage.#hear(payload),
      onFreshness: (isFresh) => storage.tellFreshness(isFresh),
      log: options.log,
    });
    storage.#clearing.wake();
    return storage;
  }

  feed(name: FeedName): Promise<Feed | undefined> {
    return this.#reads.feed(name);
  }

  feedToPost(name: FeedName): Promise<Feed | undefined> {
    return this.#reads.feed(name);
  }

  feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    return this.#reads.feedByReadId(readId);
  }

  page(name: FeedName, query: PageQuery): Promise<Page> {
    return this.#reads.page(name, query);
  }

  note(name: FeedName, id: NoteId): Promise<Note | undefined> {
    return this.#reads.note(name, id);
  }

  neighbours(name: FeedName, position: Position): Promise<Neighbours> {
    return this.#reads.neighbours(name, position);
  }

  async open(name: FeedName, file: NoteFile): Promise<StoredFile | undefined> {
    const loaded = await this.#reads.bytes(name, file);
    return loaded && storedFile(loaded);
  }

  protected store(post: Post): Promise<Feed | undefined> {
    return this.write(() => this.#posts.call(post));
  }

  replace(
    feed: AllowedFeed,
    id: NoteId,
    replacement: Replacement,
    limits: FeedLimits,
  ): Promise<Note | undefined> {
    return this.#change((changes) => changes.replace(feed, id, replacement, limits));
  }

  setMeta(feed: AllowedFeed, id: NoteId, change: (meta: NoteMeta) => NoteMeta): Promise<Note | undefined> {
    return this.#change((changes) => changes.setMeta(feed, id, change));
  }

  remove(feed: AllowedFeed, id: NoteId, type?: NoteType): Promise<boolean> {
    return this.#change((changes) => changes.remove(feed, id, type));
  }

  configure(feed: AllowedFeed, change: (feed: Feed) => FeedSettings): Promise<Feed | undefined> {
    return this.#change((changes) => changes.configure(feed, change));
  }

  setPassword(feed: AllowedFeed, passwordHash: string | undefined): Promise<boolean> {
    return this.#change((changes) => changes.setPassword(feed, passwordHash));
  }

  setLicense(feed: AllowedFeed, license: NewLicense | undefined): Promise<Feed | undefined> {
    return this.#change((changes) => changes.setLicense(feed, license));
  }

  create(name: FeedName, creation: FeedCreation): Promise<Feed | undefined> {
    return this.store({ name, notes: [], target: { kind: 'new', ...creation } });
  }

  async deleteFeed(feed: AllowedFeed): Promise<boolean> {
    const isDeleted = await this.#change((changes) => changes.deleteFeed(feed));
    if (isDeleted) this.#clearing.wake();
    return isDeleted;
  }

  useToken(series: string, place: number, until: number): Promise<boolean> {
    return useToken(this.#database, { series, place, until });
  }

  override onFreshness(listener: (isFresh: boolean) => void): void {
    super.onFreshness(listener);
    if (!this.#changesElsewhere?.isFresh) listener(false);
  }

  /** Counts of clients that the processes share. */
  clientCounts(options: Pick<ClientCountsOptions, 'secret' | 'perMinute'>): ClientCounts {
    const containers = () => this.#changesElsewhere?.listeners ?? 1;
    return new ClientCounts({ ...options, database: this.#database, containers });
  }

  check(): Promise<void> {
    return this.#reads.check();
  }

  protected async release(): Promise<void> {
    await this.#clearing.stop();
    await this.#changesElsewhere?.close();
    await this.#database.close();
  }

  /** If posts fail together, each is stored by itself, so that a bad one fails alone. */
  async #storeAll(posts: readonly Post[]): Promise<readonly (Feed | Error | undefined)[]> {
    try {
      const { answers } = await this.#transaction((transaction) =>
        Posts.store(transaction, posts, this.#rules),
      );
      this.tellCommit(answers.filter((answer) => !(answer instanceof Error)).length);
      return answers;
    } catch (error) {
      if (posts.length === 1 || !mayWorkAlone(error)) throw error;
    }
    const answers: (Feed | Error | undefined)[] = [];
    for (const post of posts)
      answers.push(...(await this.#storeAll([post]).catch((error: Error) => [error])));
    return answers;
  }

  #change<T>(work: (changes: Changes) => Promise<Changed<T>>): Promise<T> {
    return this.write(async () => {
      const { value } = await this.#transaction((transaction) =>
        work(new Changes(transaction, this.#rules.isLicenseValid)),
      );
      this.tellCommit(1);
      return value;
    });
  }

  /**
   * Tells of the changes also if nobody knows whether they were committed. Each is told once: it is one change, and
   * `Last-Modified` depends on how many there were.
   */
  async #transaction<T extends { readonly changes?: readonly ChangedFeed[] }>(
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<T> {
    let origin = '';
    let changes: readonly ChangedFeed[] = [];
    try {
      return await this.#database.transaction(async (transaction) => {
        origin = transaction.origin;
        this.#heard.set(origin, new Set());
        const done = await work(transaction);
        changes = done.changes ?? [];
        return done;
      });
    } finally {
      const heard = this.#heard.get(origin);
      this.#heard.delete(origin);
      for (const change of changes) if (!heard?.has(change.key)) this.tellChange({ readIds: change.readIds });
    }
  }

  /** Our own NOTIFY usually arrives after the reply to COMMIT. It counts too, because the reply may be lost. */
  #hear(payload: string): void {
    const { origin, changes } = decodeChanges(payload);
    const heard = this.#heard.get(origin);
    if (this.#database.isOwn(origin) && !heard) return;
    for (const change of changes) {
      heard?.add(change.key);
      this.tellChange({ readIds: change.readIds });
    }
  }
}
