import { LRUCache } from 'lru-cache';
import type { Feed } from '../../feeds/feed.ts';
import type { FeedName } from '../../feeds/names.ts';
import type { PublicKeyText } from '../../licenses/keys.ts';
import type { Owner } from '../../privileges.ts';
import { Refusal } from '../../refusals.ts';
import { cannotBeUsed } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Command, withContents } from '../../writing/command.ts';
import type { InstanceLimits } from '../../writing/decide.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { DatabaseStorage } from '../database-storage.ts';
import { storeUnavailable } from '../failures.ts';
import { foundPage, NOTHING_FOUND } from '../found-page.ts';
import { indexOfDatabase } from '../index-place.ts';
import { openIndex } from '../open-index.ts';
import type { OperatorRecord, OperatorRecords } from '../operator-records.ts';
import type { PictureRows } from '../picture-rows.ts';
import { refValues } from '../rows.ts';
import type { NoteIndexer } from '../search/note-indexer.ts';
import type { Storage, Written } from '../storage.ts';
import { storedFile } from '../stored-file.ts';
import { sendable, ThreadCalls, type WriterStats } from '../thread-calls.ts';
import { DatabaseFile } from './database-file.ts';
import type { Overview } from './overview.ts';
import type { Pictures } from './pictures.ts';
import type { Reads } from './reads.ts';
import type { RecordReply, Writes } from './writes.ts';

export interface SqliteOptions extends InstanceLimits {
  /** The database file; created if there is none. */
  readonly file: string;
  /** Who owns the files made; the process's own user when absent. */
  readonly owner?: Owner | undefined;
  /** By which the thread that writes checks licenses; undefined where none is needed. */
  readonly licenseKeys?: readonly PublicKeyText[] | undefined;
  /** Whether notes are searched; not by default. */
  readonly search?: boolean;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Observes writes and every commit; optional. */
  readonly commits?: CommitObserver | undefined;
}

/** SQLite loads a whole note for each part of it, so a part is large. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** A few hundred bytes each. */
const MAX_KNOWN_FEEDS = 1_000;

/** What the thread that copies the log serves. */
export interface Checkpoints {
  /** Copies what the write-ahead log holds into the database file, without keeping anybody from writing. */
  checkpoint(): void;
}

/** What a thread that reads is started with. */
export interface SqliteReaderData {
  readonly path: string;
  /** The reads that the thread serves. */
  readonly serves: 'notes' | 'pictures' | 'overview';
}

/** What the thread that writes is started with. */
export interface SqliteWriterData extends InstanceLimits {
  readonly path: string;
  /** Public keys of licenses; undefined if none is needed. */
  readonly licenseKeys: readonly PublicKeyText[] | undefined;
  /** Only at the first start: later a database without tables has lost them, and is not to become an empty one. */
  makesTables: boolean;
  /** See `NoteRows`. */
  readonly lastRow: Float64Array;
}

interface Threads {
  readonly writer: ThreadCalls<Pick<Writes, 'write' | 'useToken' | 'addRecord' | 'removeRecord'> & Pictures>;
  /** Every request asks who may write, which must not wait behind long texts. */
  readonly feeds: ThreadCalls<Reads>;
  readonly notes: ThreadCalls<Reads>;
  /** Counting the tags of a large feed takes long; started when it is first asked. */
  readonly tags: ThreadCalls<Reads>;
  readonly checkpoints: ThreadCalls<Checkpoints>;
  /** Looking at all pictures takes long; started when it is first asked. */
  readonly pictures: ThreadCalls<Pictures>;
  /** Looking at all feeds takes long; started when it is first asked. */
  readonly overview: ThreadCalls<Overview>;
}

/**
 * Opens the storage in one SQLite file (docs/specification.md, "Storage on the database backends"). Throws an error with a sentence
 * for the operator when another process uses the file, or when it cannot be used.
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStorage> {
  let file: DatabaseFile | undefined;
  try {
    file = DatabaseFile.take(options.file, options.owner);
    return await SqliteStorage.start(options, file);
  } catch (error) {
    file?.release();
    throw cannotBeUsed(`The database file ${options.file} (SERVICE_DATABASE_URL)`, error);
  }
}

/**
 * Feeds as the last settled write left them, because a round trip to a thread only to learn who may post costs more than
 * most of a short post. Every write must be reported here before its caller learns of it.
 */
class KnownFeeds {
  readonly #feeds = new LRUCache<FeedName, Feed>({ max: MAX_KNOWN_FEEDS });
  #writes = 0;

  /** The feed, from `read` if it is not known. */
  async get(name: FeedName, read: () => Promise<Feed | undefined>): Promise<Feed | undefined> {
    const known = this.#feeds.get(name);
    if (known !== undefined) return known;
    const writes = this.#writes;
    const feed = await read();
    // A write may have settled since it was read.
    if (feed !== undefined && writes === this.#writes) this.#feeds.set(name, feed);
    return feed;
  }

  /** A write settled; `feed` is its result, if known. */
  record(name: FeedName, feed: Feed | undefined): void {
    this.#writes += 1;
    if (feed === undefined) this.#feeds.delete(name);
    else this.#feeds.set(name, feed);
  }

  /** Forgets all feeds, because the last writes are unknown. */
  forget(): void {
    this.#writes += 1;
    this.#feeds.clear();
  }
}

class SqliteStorage extends DatabaseStorage implements Storage {
  readonly pictureRows: PictureRows;
  readonly #file: DatabaseFile;
  readonly #writerData: SqliteWriterData;
  readonly #threads: Threads;
  readonly #known = new KnownFeeds();
  search?: NonNullable<Storage['search']>;
  #indexer: NoteIndexer | undefined;
  /** Settles when the thread that was lost last has ended. */
  #whenEnded: Promise<unknown> = Promise.resolve();

  private constructor(
    file: DatabaseFile,
    { log, commits, maxFeeds, maxBytes, keepDays, licenseKeys }: SqliteOptions,
  ) {
    super(commits);
    const { path } = file;
    const lastRow = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
    this.#writerData = { path, maxFeeds, maxBytes, keepDays, licenseKeys, makesTables: true, lastRow };
    const reader: SqliteReaderData = { path, serves: 'notes' };
    const checkpoints = new ThreadCalls<Checkpoints>('checkpoint-sqlite', reader);
    let isCopying = false;
    const onStats = ({ commits, wantsCheckpoint }: WriterStats) => {
      for (const writes of commits) this.tellCommit(writes);
      // Once the storage closes, its last connection copies the log.
      if (!wantsCheckpoint || isCopying || this.isClosed) return;
      isCopying = true;
      checkpoints
        .call('checkpoint')
        .catch((err) => log.error('the log of the database cannot be copied into it', { err }))
        .finally(() => {
          isCopying = false;
        });
    };
    const pictures: SqliteReaderData = { path, serves: 'pictures' };
    const overview: SqliteReaderData = { path, serves: 'overview' };
    this.#file = file;
    const onDeath = (ended: Promise<unknown>) => this.#onThreadDeath(ended, Number.POSITIVE_INFINITY);
    const onWriterDeath = (ended: Promise<unknown>) => this.#onThreadDeath(ended, 0);
    this.#threads = {
      writer: new ThreadCalls('write-sqlite', this.#writerData, { onStats, onDeath: onWriterDeath }),
      feeds: new ThreadCalls('read-sqlite', reader, { onDeath }),
      notes: new ThreadCalls('read-sqlite', reader, { onDeath }),
      tags: new ThreadCalls('read-sqlite', reader, { onDeath }),
      checkpoints,
      pictures: new ThreadCalls('read-sqlite', pictures),
      overview: new ThreadCalls('read-sqlite', overview),
    };
    this.pictureRows = pictureRows(this.#threads);
  }

  static async start(options: SqliteOptions, file: DatabaseFile): Promise<SqliteStorage> {
    const storage = new SqliteStorage(file, options);
    const { writer, feeds, notes } = storage.#threads;
    // First: it makes the tables, and says what is wrong with the file.
    await writer.start();
    storage.#writerData.makesTables = false;
    await Promise.all([feeds.start(), notes.start()]);
    const { search = false, owner, log } = options;
    const source = { kind: 'sqlite', path: file.path } as const;
    const indexer = await openIndex(search, { file: indexOfDatabase(file.path), source, owner, log });
    if (indexer) storage.#searchBy(indexer);
    return storage;
  }

  readonly feed: Storage['feed'] = (name) => this.#threads.feeds.call('feed', name);
  readonly feedToPost: Storage['feedToPost'] = (name) => this.#known.get(name, () => this.feed(name));
  readonly feedByReadId: Storage['feedByReadId'] = (readId) =>
    this.#threads.feeds.call('feedByReadId', readId);
  readonly anyFeedByReadId: Storage['anyFeedByReadId'] = (readId) =>
    this.#threads.feeds.call('anyFeedByReadId', readId);
  readonly totals: Storage['totals'] = () => this.#threads.overview.call('totals');
  readonly listFeeds: Storage['listFeeds'] = (query) => this.#threads.overview.call('listFeeds', query);
  readonly records: OperatorRecords = {
    add: (record) => this.#changeRecords(record, (writer) => writer.call('addRecord', record)),
    remove: (kind, key) =>
      this.#changeRecords({ kind, key }, (writer) => writer.call('removeRecord', kind, key)),
    find: (kind, keys) => this.#threads.feeds.call('findRecords', kind, keys),
    list: (kind, page) => this.#threads.overview.call('listRecords', kind, page),
    count: (kind) => this.#threads.overview.call('countRecords', kind),
  };
  readonly page: Storage['page'] = ({ key }, query) => this.#threads.notes.call('page', key, query);
  readonly pageByReadId: Storage['pageByReadId'] = (readId, query) =>
    this.#threads.notes.call('pageByReadId', readId, query);
  readonly note: Storage['note'] = ({ key }, id) => this.#threads.notes.call('note', key, id);
  readonly tags: Storage['tags'] = ({ key }, prefix) => this.#threads.tags.call('tags', key, prefix);
  readonly neighbours: Storage['neighbours'] = ({ key }, position) =>
    this.#threads.notes.call('neighbours', key, position);
  readonly arrivals: Storage['arrivals'] = ({ key }, since, limit) =>
    this.#threads.notes.call('arrivals', key, since, limit);

  readonly stat: Storage['stat'] = async (feed, file) => {
    const { notes } = this.#threads;
    const row = await notes.call('stat', refValues(feed), file);
    return row && storedFile(row, PIECE_BYTES, (...part) => notes.call('bytes', ...part));
  };

  due(now: number): Promise<readonly FeedName[]> {
    return this.#threads.feeds.call('due', now);
  }

  readonly useToken: Storage['useToken'] = (series, place, until) =>
    this.#threads.writer.call('useToken', series, place, until, Date.now());

  async check(): Promise<void> {
    await this.#threads.feeds.call('check');
    if (!this.#file.isLocked)
      throw storeUnavailable(new Error('the lock file is not the one that was locked'));
  }

  protected async store(command: Command): Promise<Written | undefined> {
    const { kind, name } = command;
    let feed: Feed | undefined;
    try {
      const reply = await this.#threads.writer.call('write', withContents(command, sendable));
      const { written, readIds, files, notes } = reply;
      if (kind !== 'delete') feed = written?.feed;
      if (kind === 'delete' || files?.length) this.#indexer?.changed(name, files);
      if (readIds) this.tellChange({ readIds, ...notes });
      return written;
    } catch (error) {
      if (mayBeStored(error)) void this.#whenEnded.then(() => this.#indexer?.changed(name));
      throw error;
    } finally {
      this.#known.record(name, feed);
    }
  }

  #changeRecords(
    { kind, key }: Pick<OperatorRecord, 'kind' | 'key'>,
    change: (writer: Threads['writer']) => Promise<RecordReply>,
  ): Promise<boolean> {
    return this.change(async () => {
      try {
        const { isDone, readIds } = await change(this.#threads.writer);
        if (readIds.length > 0) this.tellChange({ readIds });
        return isDone;
      } finally {
        if (kind === 'name') this.#known.record(key as FeedName, undefined);
      }
    });
  }

  protected async release(): Promise<void> {
    const { writer, ...others } = this.#threads;
    await this.#indexer?.close();
    await Promise.all(Object.values(others).map((thread) => thread.close()));
    await writer.close();
    this.#file.release();
  }

  #searchBy(indexer: NoteIndexer): void {
    this.#indexer = indexer;
    this.search = async ({ name, key }, search) => {
      const feed = await this.feedToPost(name);
      if (feed?.key !== key || feed.noteCount === 0) return NOTHING_FOUND;
      const found = await indexer.find(name, search);
      return foundPage(found, search, (files) => this.#threads.notes.call('notes', key, files));
    };
  }

  /**
   * A thread died: the last commits of the writer may be unreported, and a thread that lost its database may find another
   * one. So what is cached is dropped, now and when the thread has ended.
   * @param heardUntil until when all changes were surely reported, in `performance.now()` time
   */
  async #onThreadDeath(ended: Promise<unknown>, heardUntil: number): Promise<void> {
    this.#whenEnded = ended;
    this.#known.forget();
    this.tellFreshness(false, heardUntil);
    await ended;
    this.#known.forget();
    this.tellFreshness(true);
  }
}

/** Whether a failed write may have been committed. It was not if it was refused, unless the storage could not be used. */
function mayBeStored(error: unknown): boolean {
  return !(error instanceof Refusal) || error.code === 'store_unavailable';
}

/** The pictures of an SQLite database, on two of its threads. */
function pictureRows({ pictures, writer }: Threads): PictureRows {
  return {
    pictures: (after, limit) => pictures.call('pictures', after, limit),
    referenced: (keys) => pictures.call('referenced', keys),
    keysBetween: (after, upTo, limit) => pictures.call('keysBetween', after, upTo, limit),
    bytes: (picture) => pictures.call('bytes', picture),
    elsewhere: (after, limit) => pictures.call('elsewhere', after, limit),
    countFreed: () => pictures.call('countFreed'),
    point: (picture, key) => writer.call('point', picture, key),
    fill: (picture, bytes) => writer.call('fill', picture, bytes),
    beginCopy: (key) => writer.call('beginCopy', key),
    endCopy: (key) => writer.call('endCopy', key),
    free: (keys, inMs) => writer.call('free', keys, inMs),
    // No other process uses the file, so this one is always the one that claims.
    claim: (limit, keptMs) => writer.call('claim', limit, keptMs),
    forget: (keys) => writer.call('forget', keys),
    markElsewhere: (keys) => writer.call('markElsewhere', keys),
  };
}
