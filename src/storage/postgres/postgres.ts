import { BatchedCalls } from '../../batcher.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../../feeds/names.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import type { Log } from '../../telemetry/log.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { storedFile } from '../loaded-file.ts';
import type { PictureRows } from '../picture-rows.ts';
import { storeUnavailable } from '../refused-writes.ts';
import type {
  AllowedFeed,
  Feed,
  FeedChange,
  FeedCreation,
  FeedLimits,
  FeedSettings,
  Neighbours,
  NewLicense,
  NewNote,
  Note,
  NoteMeta,
  Page,
  PageQuery,
  Position,
  Replacement,
  Storage,
  StoredFile,
  Target,
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
import { type Post, type PostRules, Posts } from './posts.ts';
import { Reads } from './reads.ts';
import { migrate } from './schema.ts';
import { asStartFailure } from './start-failure.ts';
import type { Transaction } from './transaction.ts';
import { UsedTokens } from './used-tokens.ts';

export interface PostgresOptions {
  /** The database, `postgres://…`. A secret: it holds a password. */
  readonly url: string;
  /** The most feeds there may be; 0 is no limit. */
  readonly maxFeeds: number;
  /** Checks licenses; undefined where none is needed. */
  readonly licenseCounts?: LicenseCheck | undefined;
  readonly log: Pick<Log, 'warn'>;
  /** Told of every write and of every commit; without one nothing is measured. */
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
export class PostgresStorage implements Storage {
  readonly #database: Database;
  readonly #rules: PostRules;
  readonly #commits: CommitObserver | undefined;
  readonly #reads: Reads;
  readonly #posts: BatchedCalls<Post, Feed | undefined>;
  readonly #clearing: Clearing;
  /** See `PictureRows`. */
  readonly pictureRows: PictureRows;
  readonly #listeners: ((change: FeedChange) => void)[] = [];
  readonly #hearingListeners: ((hears: boolean) => void)[] = [];
  /** Of each transaction that runs, the feeds that notices have told of already, by their keys. */
  readonly #heard = new Map<string, Set<string>>();
  #changesElsewhere: ChangeListener | undefined;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  private constructor({ url, maxFeeds, licenseCounts, commits }: PostgresOptions) {
    this.#database = new Database(url, { onWriter: keepMovesOut });
    this.#rules = { maxFeeds, licenseCounts };
    this.#commits = commits;
    this.#reads = new Reads(this.#database);
    this.#posts = new BatchedCalls(
      (posts) => this.#store(posts),
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
      onHearing: (hears) => {
        for (const listener of storage.#hearingListeners) listener(hears);
      },
      log: options.log,
    });
    storage.#clearing.wake();
    return storage;
  }

  feed(name: FeedName): Promise<Feed | undefined> {
    return this.#run(() => this.#reads.feed(name));
  }

  feedToPost(name: FeedName): Promise<Feed | undefined> {
    return this.feed(name);
  }

  feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    return this.#run(() => this.#reads.feedByReadId(readId));
  }

  page(name: FeedName, query: PageQuery): Promise<Page> {
    return this.#run(() => this.#reads.page(name, query));
  }

  note(name: FeedName, id: NoteId): Promise<Note | undefined> {
    return this.#run(() => this.#reads.note(name, id));
  }

  neighbours(name: FeedName, position: Position): Promise<Neighbours> {
    return this.#run(() => this.#reads.neighbours(name, position));
  }

  async open(name: FeedName, file: NoteFile): Promise<StoredFile | undefined> {
    const loaded = await this.#run(() => this.#reads.bytes(name, file));
    return loaded && storedFile(loaded);
  }

  async post(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    limits: FeedLimits,
  ): Promise<Feed | undefined> {
    const room = { notes, limits };
    // The feed of several notes stays when they cannot be stored, so it is made by itself.
    if (target.kind === 'new' && notes.length > 1) {
      if (!(await this.#post({ name, notes: [], room, target }))) return undefined;
      return this.post(name, notes, { kind: 'existing', passwordHash: target.passwordHash }, limits);
    }
    return this.#post({ name, notes, room, target });
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
    return this.#post({ name, notes: [], target: { kind: 'new', ...creation } });
  }

  async deleteFeed(feed: AllowedFeed): Promise<boolean> {
    const isDeleted = await this.#change((changes) => changes.deleteFeed(feed));
    if (isDeleted) this.#clearing.wake();
    return isDeleted;
  }

  useToken(series: string, place: number, until: number): Promise<boolean> {
    return this.#run(() => new UsedTokens(this.#database).useToken(series, place, until));
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#listeners.push(listener);
  }

  onHearing(listener: (hears: boolean) => void): void {
    this.#hearingListeners.push(listener);
    if (!this.#changesElsewhere?.hears) listener(false);
  }

  /** Counts of clients that the processes share. */
  clientCounts(options: Pick<ClientCountsOptions, 'secret' | 'perMinute'>): ClientCounts {
    const containers = () => this.#changesElsewhere?.listeners ?? 1;
    return new ClientCounts({ ...options, database: this.#database, containers });
  }

  check(): Promise<void> {
    return this.#run(() => this.#reads.check());
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.allSettled([...this.#running, this.#clearing.stop()]);
    await this.#changesElsewhere?.close();
    await this.#database.close();
  }

  #post(post: Post): Promise<Feed | undefined> {
    return this.#write(() => this.#posts.call(post));
  }

  /** If posts fail together, each is stored by itself, so that a bad one fails alone. */
  async #store(posts: readonly Post[]): Promise<readonly (Feed | Error | undefined)[]> {
    try {
      const { answers } = await this.#transaction((transaction) =>
        Posts.store(transaction, posts, this.#rules),
      );
      this.#commits?.committed(answers.filter((answer) => !(answer instanceof Error)).length);
      return answers;
    } catch (error) {
      if (posts.length === 1 || !mayWorkAlone(error)) throw error;
    }
    const answers: (Feed | Error | undefined)[] = [];
    for (const post of posts) answers.push(...(await this.#store([post]).catch((error: Error) => [error])));
    return answers;
  }

  #change<T>(work: (changes: Changes) => Promise<Changed<T>>): Promise<T> {
    return this.#write(async () => {
      const { value } = await this.#transaction((transaction) =>
        work(new Changes(transaction, this.#rules.licenseCounts)),
      );
      this.#commits?.committed(1);
      return value;
    });
  }

  /**
   * Tells of the changes also where nobody knows whether they were committed: they may have been. Each is told once: it
   * is one change, and `Last-Modified` depends on how many there were.
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
      this.#tell(changes.filter(({ key }) => !heard?.has(key)));
    }
  }

  /** The notice of an own transaction mostly comes after its end, but its end may never be heard of. */
  #hear(payload: string): void {
    const { origin, changes } = decodeChanges(payload);
    const heard = this.#heard.get(origin);
    if (this.#database.isOwn(origin) && !heard) return;
    for (const { key } of changes) heard?.add(key);
    this.#tell(changes);
  }

  #tell(changes: readonly ChangedFeed[]): void {
    for (const { readIds } of changes) for (const listener of this.#listeners) listener({ readIds });
  }

  #write<T>(work: () => Promise<T>): Promise<T> {
    return this.#run(async () => {
      const begunAt = this.#commits ? performance.now() : 0;
      try {
        return await work();
      } finally {
        this.#commits?.wrote(performance.now() - begunAt);
      }
    });
  }

  /** Something that the closing waits for. */
  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw storeUnavailable(new Error('the storage is closed'));
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
}
