import type { Checkpoints, SqliteCheckpointData } from '../../../workers/checkpoint-sqlite.ts';
import type { SqliteReaderData } from '../../../workers/read-sqlite.ts';
import type { SqliteWriterData } from '../../../workers/write-sqlite.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../../feeds/names.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import type { PublicKeyText } from '../../licenses/keys.ts';
import type { Owner } from '../../privileges.ts';
import { cannotBeUsed } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { DatabaseStorage, type Post } from '../database-storage.ts';
import { KeyedLock } from '../keyed-lock.ts';
import { storedFile } from '../loaded-file.ts';
import type { PictureRows } from '../picture-rows.ts';
import { storeUnavailable } from '../refused-writes.ts';
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
import { sendable, ThreadCalls, type WriterStats } from '../thread-calls.ts';
import type { Changed, Changes } from './changes.ts';
import { DatabaseFile } from './database-file.ts';
import { KnownFeeds } from './known-feeds.ts';
import type { PictureChanges } from './picture-changes.ts';
import type { PictureReads } from './picture-reads.ts';
import { pictureRows } from './picture-rows.ts';
import type { Reads } from './reads.ts';

export interface SqliteOptions {
  /** The database file; made where there is none. */
  readonly file: string;
  /** Who owns the files made; the process's own user when absent. */
  readonly owner?: Owner | undefined;
  /** The most feeds there may be; 0 is no limit. */
  readonly maxFeeds: number;
  /** By which the thread that writes checks licenses; undefined where none is needed. */
  readonly licenseKeys?: readonly PublicKeyText[] | undefined;
  readonly log: Pick<Log, 'error'>;
  /** Observes writes and every commit; optional. */
  readonly commits?: CommitObserver | undefined;
}

/** A method of `Changes` that writes to one feed. */
type Write = Exclude<keyof Changes, 'begin' | 'finish' | 'recount' | 'clearSome' | 'useToken'>;
type Value<W extends Write> = ReturnType<Changes[W]> extends Changed<infer T> ? T : never;
/** What the thread that writes serves. */
export type WriterCalls = Pick<Changes, Write | 'useToken'> & PictureChanges;

const RETURN_FEED: ReadonlySet<Write> = new Set(['post', 'create', 'configure', 'setLicense']);

interface Threads {
  readonly writer: ThreadCalls<WriterCalls>;
  /** Every request asks who may write, which must not wait behind long texts. */
  readonly feeds: ThreadCalls<Reads>;
  readonly notes: ThreadCalls<Reads>;
  readonly checkpoints: ThreadCalls<Checkpoints>;
  /** Looking at all pictures takes long; started when it is first asked. */
  readonly pictures: ThreadCalls<PictureReads>;
}

/**
 * Opens the storage in one SQLite file (docs/specification.md, "Storage on the database backends"). Throws an error with a sentence
 * for the operator when another process uses the file, or when it cannot be used.
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStorage> {
  const file = lockDatabaseFile(options);
  try {
    return await SqliteStorage.start(options, file);
  } catch (error) {
    file.release();
    throw error;
  }
}

function lockDatabaseFile({ file, owner }: SqliteOptions): DatabaseFile {
  try {
    return DatabaseFile.take(file, owner);
  } catch (error) {
    throw cannotBeUsed(`The database file ${file} (SERVICE_DATABASE_URL)`, error);
  }
}

class SqliteStorage extends DatabaseStorage implements Storage {
  readonly pictureRows: PictureRows;
  readonly #file: DatabaseFile;
  readonly #threads: Threads;
  readonly #known = new KnownFeeds();
  /** What is changed by a function is read first, so of one feed one such change at a time. */
  readonly #locks = new KeyedLock<FeedName>();

  private constructor(file: DatabaseFile, { log, commits, maxFeeds, licenseKeys }: SqliteOptions) {
    super(commits);
    const { path } = file;
    const reader: SqliteReaderData & SqliteCheckpointData = { path, serves: 'notes' };
    const checkpoints = new ThreadCalls<Checkpoints>('checkpoint-sqlite', reader);
    let isCopying = false;
    const onStats = ({ commits, wantsCheckpoint }: WriterStats) => {
      for (const writes of commits) this.tellCommit(writes);
      if (!wantsCheckpoint || isCopying) return;
      isCopying = true;
      checkpoints
        .call('checkpoint')
        .catch((err) => log.error('the log of the database cannot be copied into it', { err }))
        .finally(() => {
          isCopying = false;
        });
    };
    const writer: SqliteWriterData = { path, maxFeeds, licenseKeys };
    const pictures: SqliteReaderData = { path, serves: 'pictures' };
    this.#file = file;
    this.#threads = {
      writer: new ThreadCalls('write-sqlite', writer, {
        onStats,
        onDeath: (ended) => this.#lostWriter(ended),
      }),
      feeds: new ThreadCalls('read-sqlite', reader),
      notes: new ThreadCalls('read-sqlite', reader),
      checkpoints,
      pictures: new ThreadCalls('read-sqlite', pictures),
    };
    this.pictureRows = pictureRows({ reader: this.#threads.pictures, writer: this.#threads.writer as never });
  }

  static async start(options: SqliteOptions, file: DatabaseFile): Promise<SqliteStorage> {
    const storage = new SqliteStorage(file, options);
    const { writer, feeds, notes } = storage.#threads;
    // First: it makes the tables, and says what is wrong with the file.
    await writer.start();
    await Promise.all([feeds.start(), notes.start()]);
    return storage;
  }

  feed(name: FeedName): Promise<Feed | undefined> {
    return this.#threads.feeds.call('feed', name);
  }

  feedToPost(name: FeedName): Promise<Feed | undefined> {
    return this.#known.get(name, () => this.#threads.feeds.call('feed', name));
  }

  feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    return this.#threads.feeds.call('feedByReadId', readId);
  }

  page(name: FeedName, query: PageQuery): Promise<Page> {
    return this.#threads.notes.call('page', name, query);
  }

  note(name: FeedName, id: NoteId): Promise<Note | undefined> {
    return this.#threads.notes.call('note', name, id);
  }

  neighbours(name: FeedName, position: Position): Promise<Neighbours> {
    return this.#threads.notes.call('neighbours', name, position);
  }

  async open(name: FeedName, file: NoteFile): Promise<StoredFile | undefined> {
    const loaded = await this.#threads.notes.call('bytes', name, file);
    return loaded && storedFile(loaded);
  }

  protected store({ name, notes, room, target }: Post): Promise<Feed | undefined> {
    if (target.kind === 'new' && notes.length === 0) return this.create(name, target, room);
    return this.#write(name, 'post', name, notes.map(sendable), target, room!.limits);
  }

  replace(
    feed: AllowedFeed,
    id: NoteId,
    replacement: Replacement,
    limits: FeedLimits,
  ): Promise<Note | undefined> {
    const { added = [] } = replacement;
    const sent = { ...sendable(replacement), added: added.map(sendable) };
    return this.#write(feed.name, 'replace', keyOf(feed), id, sent, limits);
  }

  setMeta(feed: AllowedFeed, id: NoteId, change: (meta: NoteMeta) => NoteMeta): Promise<Note | undefined> {
    return this.#locks.exclusive(feed.name, async () => {
      const note = await this.note(feed.name, id);
      return note && this.#write(feed.name, 'setMeta', keyOf(feed), id, change(note.meta));
    });
  }

  remove(feed: AllowedFeed, id: NoteId, type?: NoteType): Promise<boolean> {
    return this.#write(feed.name, 'remove', keyOf(feed), id, type);
  }

  configure(feed: AllowedFeed, change: (feed: Feed) => FeedSettings): Promise<Feed | undefined> {
    return this.#locks.exclusive(feed.name, async () => {
      const now = await this.feed(feed.name);
      const isAllowed = now?.key === feed.key && now.passwordHash === feed.passwordHash;
      return isAllowed ? this.#write(feed.name, 'configure', keyOf(feed), change(now)) : undefined;
    });
  }

  setPassword(feed: AllowedFeed, passwordHash: string | undefined): Promise<boolean> {
    return this.#write(feed.name, 'setPassword', keyOf(feed), passwordHash);
  }

  setLicense(feed: AllowedFeed, license: NewLicense | undefined): Promise<Feed | undefined> {
    return this.#write(feed.name, 'setLicense', keyOf(feed), license);
  }

  create(name: FeedName, creation: FeedCreation, room?: Post['room']): Promise<Feed | undefined> {
    const sent = room && { notes: room.notes.map(({ type }) => ({ type })), limits: room.limits };
    return this.#write(name, 'create', name, creation, sent);
  }

  deleteFeed(feed: AllowedFeed): Promise<boolean> {
    return this.#write(feed.name, 'deleteFeed', keyOf(feed));
  }

  useToken(series: string, place: number, until: number): Promise<boolean> {
    return this.#threads.writer.call('useToken', series, place, until, Date.now());
  }

  async check(): Promise<void> {
    await this.#threads.feeds.call('check');
    if (!this.#file.isLocked)
      throw storeUnavailable(new Error('the lock file is not the one that was locked'));
  }

  protected async release(): Promise<void> {
    const { writer, ...others } = this.#threads;
    await Promise.all(Object.values(others).map((thread) => thread.close()));
    await writer.close();
    this.#file.release();
  }

  /** The writer died; its last commits may be unreported, so what is cached is dropped, now and when it has ended. */
  async #lostWriter(ended: Promise<unknown>): Promise<void> {
    this.#known.forget();
    this.tellFreshness(false);
    await ended;
    this.#known.forget();
    this.tellFreshness(true);
  }

  #write<W extends Write>(name: FeedName, method: W, ...args: Parameters<Changes[W]>): Promise<Value<W>> {
    return this.write(async () => {
      let feed: Feed | undefined;
      try {
        const reply: Promise<unknown> = this.#threads.writer.call(method, ...(args as never));
        const { value, readIds } = (await reply) as Changed<Value<W>>;
        if (RETURN_FEED.has(method)) feed = value as Feed | undefined;
        if (readIds) this.tellChange({ readIds });
        return value;
      } finally {
        this.#known.written(name, feed);
      }
    });
  }
}

/** What says which feed it is; the rest would cost something on its way to the thread. */
function keyOf({ name, key, passwordHash }: AllowedFeed): AllowedFeed {
  return { name, key, passwordHash };
}
