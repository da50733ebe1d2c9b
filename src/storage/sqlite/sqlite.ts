import type { Checkpoints, SqliteCheckpointData } from '../../../workers/checkpoint-sqlite.ts';
import type { SqliteReaderData } from '../../../workers/read-sqlite.ts';
import type { SqliteWriterData } from '../../../workers/write-sqlite.ts';
import type { ImageKey } from '../../feeds/image-keys.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../../feeds/names.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import type { PublicKeyText } from '../../licenses/public-keys.ts';
import type { Owner } from '../../privileges.ts';
import { cannotBeUsed } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { storedFile } from '../loaded-file.ts';
import type { PicturePage, PicturePlace, PictureRow, PictureRows } from '../picture-rows.ts';
import { storeUnavailable } from '../refused-writes.ts';
import { sendable } from '../sendable.ts';
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
import { Turns } from '../turns.ts';
import type { Changed, Changes } from './changes.ts';
import { DatabaseFile } from './database-file.ts';
import { KnownFeeds } from './known-feeds.ts';
import { OrderThread } from './order-thread.ts';
import type { News } from './orders.ts';
import type { PictureReads } from './picture-reads.ts';
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
  /** Told of every write and of every commit; without one nothing is measured. */
  readonly commits?: CommitObserver | undefined;
}

/** A write: a method of `Changes` that another thread calls. */
type Write = Exclude<keyof Changes, 'begin' | 'finish' | 'recount' | 'clearSome' | 'useToken'>;
type WriterCalls = Pick<Changes, Write | 'useToken'>;
type Value<W extends Write> = ReturnType<Changes[W]> extends Changed<infer T> ? T : never;

/** Those that give the feed as it is afterwards. */
const GIVE_FEED: ReadonlySet<Write> = new Set(['post', 'create', 'configure', 'setLicense']);

interface Threads {
  readonly writer: OrderThread<WriterCalls>;
  /** Who may write is asked by every request, so it must not wait behind long texts. */
  readonly feeds: OrderThread<Reads>;
  readonly notes: OrderThread<Reads>;
  readonly checkpoints: OrderThread<Checkpoints>;
  /** What looks at all pictures takes long; started when it is first asked. */
  readonly pictures: OrderThread<PictureReads>;
}

const script = (name: string) => new URL(`../../../workers/${name}.ts`, import.meta.url);

/**
 * Opens the storage in one SQLite file (docs/specification.md, "Storage on the database backends"). Throws an error with a sentence
 * for the operator when another process uses the file, or when it cannot be used.
 */
export async function openSqlite(options: SqliteOptions): Promise<Storage & PictureRows> {
  const file = taken(options);
  try {
    return await SqliteStorage.start(options, file);
  } catch (error) {
    file.release();
    throw error;
  }
}

function taken({ file, owner }: SqliteOptions): DatabaseFile {
  try {
    return DatabaseFile.take(file, owner);
  } catch (error) {
    throw cannotBeUsed(`The database file ${file} (SERVICE_DATABASE_URL)`, error);
  }
}

class SqliteStorage implements Storage, PictureRows {
  readonly #file: DatabaseFile;
  readonly #threads: Threads;
  readonly #commits: CommitObserver | undefined;
  readonly #known = new KnownFeeds();
  readonly #listeners: ((change: FeedChange) => void)[] = [];
  readonly #hearingListeners: ((hears: boolean) => void)[] = [];
  /** What is changed by a function is read first, so of one feed one such change at a time. */
  readonly #turns = new Turns<FeedName>();
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  private constructor(file: DatabaseFile, threads: Threads, commits: CommitObserver | undefined) {
    this.#file = file;
    this.#threads = threads;
    this.#commits = commits;
  }

  static async start(
    { maxFeeds, licenseKeys, log, commits }: SqliteOptions,
    file: DatabaseFile,
  ): Promise<SqliteStorage> {
    const { path } = file;
    const ofOthers: SqliteReaderData & SqliteCheckpointData = { path, serves: 'notes' };
    const checkpoints = new OrderThread<Checkpoints>(script('checkpoint-sqlite'), ofOthers);
    let isCopying = false;
    const onNews = ({ commits: sizes, wantsCheckpoint }: News) => {
      if (commits) for (const writes of sizes) commits.committed(writes);
      if (!wantsCheckpoint || isCopying) return;
      isCopying = true;
      checkpoints
        .call('checkpoint')
        .catch((err) => log.error('the log of the database cannot be copied into it', { err }))
        .finally(() => {
          isCopying = false;
        });
    };
    let storage: SqliteStorage | undefined;
    // First: it makes the tables, and says what is wrong with the file.
    const ofWriter: SqliteWriterData = { path, maxFeeds, licenseKeys };
    const writer = new OrderThread<WriterCalls>(script('write-sqlite'), ofWriter, {
      onNews,
      onDeath: (ended) => {
        if (storage) storage.#lostWriter(ended);
      },
    });
    await writer.start();
    const reading = () => new OrderThread<Reads>(script('read-sqlite'), ofOthers).start();
    const [feeds, notes] = await Promise.all([reading(), reading()]);
    const ofPictures: SqliteReaderData = { path, serves: 'pictures' };
    const pictures = new OrderThread<PictureReads>(script('read-sqlite'), ofPictures);
    storage = new SqliteStorage(file, { writer, feeds, notes, checkpoints, pictures }, commits);
    return storage;
  }

  feed(name: FeedName): Promise<Feed | undefined> {
    return this.#run(() => this.#threads.feeds.call('feed', name));
  }

  feedToPost(name: FeedName): Promise<Feed | undefined> {
    return this.#run(() => this.#known.get(name, () => this.#threads.feeds.call('feed', name)));
  }

  feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    return this.#run(() => this.#threads.feeds.call('feedByReadId', readId));
  }

  page(name: FeedName, query: PageQuery): Promise<Page> {
    return this.#run(() => this.#threads.notes.call('page', name, query));
  }

  note(name: FeedName, id: NoteId): Promise<Note | undefined> {
    return this.#run(() => this.#threads.notes.call('note', name, id));
  }

  neighbours(name: FeedName, position: Position): Promise<Neighbours> {
    return this.#run(() => this.#threads.notes.call('neighbours', name, position));
  }

  async open(name: FeedName, file: NoteFile): Promise<StoredFile | undefined> {
    const loaded = await this.#run(() => this.#threads.notes.call('bytes', name, file));
    return loaded && storedFile(loaded);
  }

  async post(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    limits: FeedLimits,
  ): Promise<Feed | undefined> {
    // The feed of several notes stays when they cannot be stored, so it is made by itself.
    if (target.kind === 'new' && notes.length > 1) {
      const room = { notes: notes.map(({ type }) => ({ type })), limits };
      if (!(await this.#write(name, 'create', name, target, room))) return undefined;
      return this.post(name, notes, { kind: 'existing', passwordHash: target.passwordHash }, limits);
    }
    return this.#write(name, 'post', name, notes.map(sendable), target, limits);
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
    return this.#turns.alone(feed.name, async () => {
      const note = await this.note(feed.name, id);
      return note && this.#write(feed.name, 'setMeta', keyOf(feed), id, change(note.meta));
    });
  }

  remove(feed: AllowedFeed, id: NoteId, type?: NoteType): Promise<boolean> {
    return this.#write(feed.name, 'remove', keyOf(feed), id, type);
  }

  configure(feed: AllowedFeed, change: (feed: Feed) => FeedSettings): Promise<Feed | undefined> {
    return this.#turns.alone(feed.name, async () => {
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

  create(name: FeedName, creation: FeedCreation): Promise<Feed | undefined> {
    return this.#write(name, 'create', name, creation);
  }

  deleteFeed(feed: AllowedFeed): Promise<boolean> {
    return this.#write(feed.name, 'deleteFeed', keyOf(feed));
  }

  pictures(after: PicturePlace | undefined, limit: number): Promise<PicturePage> {
    return this.#run(() => this.#threads.pictures.call('pictures', after, limit));
  }

  referenced(keys: readonly ImageKey[]): Promise<readonly ImageKey[]> {
    return this.#run(() => this.#threads.pictures.call('referenced', keys));
  }

  keysBetween(after: string, upTo: string, limit: number): Promise<readonly ImageKey[]> {
    return this.#run(() => this.#threads.pictures.call('keysBetween', after, upTo, limit));
  }

  bytes(picture: PictureRow): Promise<Uint8Array | undefined> {
    return this.#run(() => this.#threads.pictures.call('bytes', picture));
  }

  elsewhere(after: string, limit: number): Promise<readonly ImageKey[]> {
    return this.#run(() => this.#threads.pictures.call('elsewhere', after, limit));
  }

  countFreed(): Promise<number> {
    return this.#run(() => this.#threads.pictures.call('countFreed'));
  }

  point(picture: PictureRow, key: ImageKey): Promise<boolean> {
    return this.#order('point', picture, key);
  }

  fill(picture: PictureRow, bytes: Uint8Array): Promise<boolean> {
    return this.#order('fill', picture, bytes);
  }

  beginCopy(key: ImageKey): Promise<boolean> {
    return this.#order('beginCopy', key);
  }

  endCopy(key: ImageKey): Promise<boolean> {
    return this.#order('endCopy', key);
  }

  free(keys: readonly ImageKey[], inMs: number): Promise<void> {
    return this.#order('free', keys, inMs);
  }

  /** No other process uses the file. */
  claim(limit: number): Promise<readonly ImageKey[]> {
    return this.#order('claim', limit);
  }

  forget(keys: readonly ImageKey[]): Promise<void> {
    return this.#order('forget', keys);
  }

  moveElsewhere(keys: readonly ImageKey[]): Promise<void> {
    return this.#order('moveElsewhere', keys);
  }

  useToken(series: string, place: number, until: number): Promise<boolean> {
    return this.#run(() => this.#threads.writer.call('useToken', series, place, until, Date.now()));
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#listeners.push(listener);
  }

  onHearing(listener: (hears: boolean) => void): void {
    this.#hearingListeners.push(listener);
  }

  async check(): Promise<void> {
    await this.#run(() => this.#threads.feeds.call('check'));
    if (!this.#file.isLocked)
      throw storeUnavailable(new Error('the lock file is not the one that was locked'));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
    const { writer, ...others } = this.#threads;
    await Promise.all(Object.values(others).map((thread) => thread.close()));
    await writer.close();
    this.#file.release();
  }

  /** Of what the thread committed last nobody has heard. */
  async #lostWriter(ended: Promise<unknown>): Promise<void> {
    this.#hears(false);
    await ended;
    this.#hears(true);
  }

  #hears(hears: boolean): void {
    this.#known.forget();
    for (const listener of this.#hearingListeners) listener(hears);
  }

  /** A write that no feed shows. */
  #order<W extends Write>(method: W, ...args: Parameters<Changes[W]>): Promise<Value<W>> {
    return this.#run(async () => {
      const answer: Promise<unknown> = this.#threads.writer.call(method, ...args);
      return ((await answer) as Changed<Value<W>>).value;
    });
  }

  async #write<W extends Write>(
    name: FeedName,
    method: W,
    ...args: Parameters<Changes[W]>
  ): Promise<Value<W>> {
    return this.#run(async () => {
      const begunAt = this.#commits ? performance.now() : 0;
      let feed: Feed | undefined;
      try {
        const answer: Promise<unknown> = this.#threads.writer.call(method, ...args);
        const { value, readIds } = (await answer) as Changed<Value<W>>;
        if (GIVE_FEED.has(method)) feed = value as Feed | undefined;
        if (readIds) for (const listener of this.#listeners) listener({ readIds });
        return value;
      } finally {
        this.#known.written(name, feed);
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

/** Of a feed only what says which it is, for the rest costs something on its way to the thread. */
function keyOf({ name, key, passwordHash }: AllowedFeed): AllowedFeed {
  return { name, key, passwordHash };
}
