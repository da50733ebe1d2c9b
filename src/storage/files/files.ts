import { constants, readdirSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { AdmittedFeed, Feed } from '../../feeds/feed.ts';
import type { Derivation } from '../../feeds/ids.ts';
import { type FeedName, type NoteFile, type NoteId, type ReadId, ROUTE_NAMES } from '../../feeds/names.ts';
import type { Note } from '../../feeds/note.ts';
import type { Position } from '../../feeds/order.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import type { Owner } from '../../privileges.ts';
import type { Log } from '../../telemetry/log.ts';
import type { InstanceLimits } from '../../writing/decide.ts';
import { dueOf } from '../../writing/due.ts';
import type { Arrival, Arrivals } from '../arrivals.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { unfinishedMove, withoutPath } from '../failures.ts';
import { foundPage, NOTHING_FOUND } from '../found-page.ts';
import { indexOfFolder } from '../index-place.ts';
import { KeyedLock } from '../keyed-lock.ts';
import { openIndex } from '../open-index.ts';
import type { NoteIndexer } from '../search/note-indexer.ts';
import type {
  FeedChange,
  FeedListPage,
  FeedListQuery,
  FeedPage,
  FeedRef,
  Neighbours,
  Page,
  PageQuery,
  Storage,
  StoredFile,
  TagCount,
  Totals,
} from '../storage.ts';
import { collectGarbage, heapSize } from './collect-garbage.ts';
import { dueNotes } from './due-notes.ts';
import { refuse, unavailable } from './failures.ts';
import { FeedIndex } from './feed-index.ts';
import { listFeeds } from './feed-lists.ts';
import { findArrivals } from './find-arrivals.ts';
import { RetiredReadIds, readRetired, UsedTokens } from './line-files.ts';
import { FolderLock } from './lock.ts';
import { MARKS_LIMITS, MarkKeeper, type MarksLimits } from './mark-keeper.ts';
import { isLeftover, MOVE_FILE, readIdOfTemp, TOKENS_FILE } from './names.ts';
import { NoteReader } from './note-reader.ts';
import { isThere } from './read-file.ts';
import { Reconciler } from './reconciler.ts';
import { RecordFiles } from './record-files.ts';
import { Removals } from './removals.ts';
import { scanAll } from './scan.ts';
import { type FolderWatch, type WatchNotice, WatchThread } from './watch-thread.ts';
import { type WriterHelper, WriterThread } from './writer-thread.ts';
import { retire, type WriteParts, write } from './writes.ts';

export interface FilesOptions extends InstanceLimits {
  /** The data folder (DATA_DIR); must exist. */
  readonly dir: string;
  /** The server secret, which read ids of feeds without a stored one follow from. */
  readonly secret: Uint8Array;
  /** How they follow; `own` when absent. */
  readonly derivation?: Derivation;
  /** Who owns the files and folders made; the process's own user when absent. */
  readonly owner?: Owner | undefined;
  /** Checks licenses; undefined where none is needed. */
  readonly isLicenseValid?: LicenseCheck | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Whether notes are searched; not by default. */
  readonly search?: boolean;
  /** Observes writes and every sync of a folder; optional. */
  readonly commits?: CommitObserver | undefined;
  /** False: changes by hand are found by polling only, as if the kernel sent no events. */
  readonly events?: boolean;
  /** When `.marks` is written. Tests give small limits, so that few notes and some seconds are enough. */
  readonly marksLimits?: MarksLimits;
}

/** The writer and the watch of the storage. Each runs on a thread of its own, unless others are given. */
export interface FilesHelpers {
  readonly writer: WriterHelper;
  readonly watch: FolderWatch;
}

const NO_NOTES: Page = { notes: [], next: undefined };

/**
 * Opens the storage on plain files (docs/specification.md, "Storage on the file backend"). Throws an error with a sentence for
 * the operator when another process uses the folder.
 */
export async function openFiles(
  options: FilesOptions,
  helpers: FilesHelpers = threadsOf(options),
): Promise<Storage> {
  const { dir, owner } = options;
  const lock = new FolderLock(dir, owner);
  try {
    if (await isThere(join(dir, MOVE_FILE))) throw unfinishedMove('The data folder (DATA_DIR)');
    const files = new FilesStorage(options, helpers, { lock, retired: await readRetired(dir) });
    await files.start(options);
    return files;
  } catch (error) {
    lock.release();
    throw error;
  }
}

function threadsOf({ dir, owner, commits }: FilesOptions): FilesHelpers {
  return { writer: new WriterThread(dir, owner, commits), watch: new WatchThread() };
}

/**
 * Names of unfinished files and folders that the dead thread left beside the feeds. The next thread has made none yet. Empty if the
 * folder cannot be read: then the next start removes them.
 */
function leftoversNow(dir: string): string[] {
  try {
    return readdirSync(dir).filter(isLeftover);
  } catch {
    return [];
  }
}

class FilesStorage implements Storage {
  readonly #parts: WriteParts;
  readonly #keeper: MarkKeeper;
  readonly #lock: FolderLock;
  readonly #reader: NoteReader;
  readonly #writer: FilesHelpers['writer'];
  readonly #watch: FolderWatch;
  readonly #removals: Removals;
  readonly #reconciler: Reconciler;
  readonly #tokens: UsedTokens;
  readonly #records: RecordFiles;
  readonly records: Storage['records'];
  readonly #writing = new Set<Promise<unknown>>();
  search?: NonNullable<Storage['search']>;
  #indexer: NoteIndexer | undefined;
  #isClosed = false;

  constructor(
    options: FilesOptions,
    { writer, watch }: FilesHelpers,
    { lock, retired }: { readonly lock: FolderLock; readonly retired: string },
  ) {
    const { dir, log } = options;
    this.#lock = lock;
    this.#writer = writer;
    writer.onDeath = (folders, ended) => this.#clearAfter(folders, ended);
    this.#watch = watch;
    this.#removals = new Removals(log);
    this.#tokens = new UsedTokens(dir, writer);
    const shared = {
      dir,
      index: new FeedIndex(options.secret, options.derivation),
      writer,
      locks: new KeyedLock<string>(),
      log,
    };
    const records = new RecordFiles(shared);
    this.#records = records;
    this.records = {
      add: (record) => this.#write(() => records.add(record)),
      remove: (kind, key) => this.#write(() => records.remove(kind, key)),
      find: (kind, keys) => records.find(kind, keys),
      list: (kind, page) => records.list(kind, page),
      count: (kind) => records.count(kind),
    };
    const marksLimits = options.marksLimits ?? MARKS_LIMITS;
    this.#keeper = new MarkKeeper({ ...shared, marksLimits }, (order) => watch.order(order));
    shared.index.onApplied = (feed) => {
      this.#keeper.want(feed);
      this.#keeper.saveSome(feed);
    };
    this.#parts = {
      ...shared,
      keeper: this.#keeper,
      records,
      retired: new RetiredReadIds(dir, writer, retired),
      removals: this.#removals,
      rules: {
        maxFeeds: options.maxFeeds,
        maxBytes: options.maxBytes,
        keepDays: options.keepDays,
        isLicenseValid: options.isLicenseValid,
      },
      onMade: (name) => this.#order([name]),
      onLost: (name) => this.#order([name], true),
    };
    this.#reconciler = new Reconciler(this.#parts);
    this.#reader = new NoteReader(this.#parts, (feed, seen) => this.#reconciler.look(feed, seen));
  }

  /** The watch begins before the scan, so that no change falls between the two. */
  async start({ events = true, search = false, owner }: FilesOptions): Promise<void> {
    const { dir, log } = this.#parts;
    const scanned = Promise.withResolvers<void>();
    this.#reconciler.after(scanned.promise);
    await this.#watch.start(
      { dir, events },
      {
        onNotice: (notice) => this.#onNotice(notice),
        onDeath: (cause) =>
          log.warn('the thread that sees changes by hand has died, and is started again', {
            err: withoutPath(cause),
          }),
        onReplaced: (cause) => {
          this.#keeper.lost(cause);
          this.#order(this.#parts.index.names());
        },
      },
    );
    const heapBefore = heapSize();
    await this.#records.load();
    this.#parts.index.addAll(await scanAll(dir, (name) => this.#removeLater(name), log));
    warnOfOddFeeds(this.#parts.index, log);
    await collectGarbage(heapBefore);
    // Once all feeds are known, because it compares them by itself.
    const source = { kind: 'files', dir } as const;
    const indexer = await openIndex(search, { file: indexOfFolder(dir), source, owner, log });
    if (indexer) this.#searchBy(indexer);
    scanned.resolve();
  }

  async feed(name: FeedName): Promise<Feed | undefined> {
    return this.#parts.index.get(name)?.record();
  }

  readonly feedToPost: Storage['feedToPost'] = (name) => this.feed(name);

  async feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    return this.#parts.index.byReadId(readId)?.record();
  }

  async anyFeedByReadId(readId: ReadId): Promise<Feed | undefined> {
    return this.#parts.index.anyByReadId(readId)?.record();
  }

  async page(admitted: AdmittedFeed, query: PageQuery): Promise<Page> {
    const feed = this.#parts.index.admitted(admitted);
    return feed ? this.#reader.page(feed, query) : NO_NOTES;
  }

  async pageByReadId(readId: ReadId, query: PageQuery): Promise<FeedPage | undefined> {
    const feed = this.#parts.index.byReadId(readId);
    return feed && { feed: feed.record(), ...(await this.#reader.page(feed, query)) };
  }

  async note(admitted: AdmittedFeed, id: NoteId): Promise<Note | undefined> {
    const feed = this.#parts.index.admitted(admitted);
    const entry = feed?.entryOfId(id);
    return feed && entry ? this.#reader.note(feed, entry) : undefined;
  }

  async tags(admitted: AdmittedFeed, prefix: string): Promise<readonly TagCount[]> {
    const feed = this.#parts.index.admitted(admitted);
    return feed ? this.#reader.tags(feed, prefix) : [];
  }

  async neighbours(admitted: AdmittedFeed, position: Position): Promise<Neighbours> {
    const feed = this.#parts.index.admitted(admitted);
    if (feed) await this.#parts.keeper.whenMarked(feed);
    const now = feed?.marks && Date.now();
    const [older, newer] = [feed?.notes.older(position, 1, now)[0], feed?.notes.newer(position, now)];
    const expiries = [older, newer].map(
      (note) => (note && feed?.expiryOf(note.file)) ?? Number.POSITIVE_INFINITY,
    );
    return { older: older?.id, newer: newer?.id, expires: Math.min(...expiries) };
  }

  async arrivals(
    admitted: AdmittedFeed,
    since: Arrival | NoteId | undefined,
    limit: number,
  ): Promise<Arrivals | undefined> {
    const feed = this.#parts.index.admitted(admitted);
    return feed
      ? findArrivals(this.#parts, this.#reader, feed, since, limit)
      : { notes: [], isComplete: true };
  }

  async stat(ref: FeedRef, file: NoteFile): Promise<StoredFile | undefined> {
    const feed = this.#parts.index.referred(ref);
    const entry = feed?.notes.get(file);
    return feed && entry ? this.#reader.stat(feed, entry) : undefined;
  }

  async due(now: number): Promise<readonly FeedName[]> {
    const { index, rules } = this.#parts;
    const due: FeedName[] = [];
    for await (const feeds of index.inTurns())
      for (const feed of feeds)
        if (dueNotes(feed, dueOf(feed.files.settings, now, rules.keepDays), 1).length > 0)
          due.push(feed.name);
    return due;
  }

  async totals(): Promise<Totals> {
    return this.#parts.index.totals();
  }

  listFeeds(query: FeedListQuery): Promise<FeedListPage> {
    return listFeeds(this.#parts.index, query);
  }

  readonly write: Storage['write'] = (command) => this.#write(() => write(this.#parts, command));
  readonly useToken: Storage['useToken'] = (...args) =>
    this.#write(() => this.#parts.locks.exclusive(TOKENS_FILE, () => this.#tokens.use(...args)));

  onChange(listener: (change: FeedChange) => void): void {
    this.#parts.index.onChange(listener);
  }

  async check(): Promise<void> {
    this.#mustBeUsable();
    try {
      if (!this.#lock.isValid) throw unavailable(new Error('the data folder is not the one that was locked'));
      await access(this.#parts.dir, constants.R_OK | constants.W_OK);
    } catch (error) {
      refuse(error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#keeper.end(new Error('the storage is closed'));
    await this.#watch.close();
    // Before the writes that run: a deletion that waits for the files of a large feed must not keep the service from stopping.
    await this.#removals.close();
    this.#reconciler.stopTrying();
    await Promise.allSettled(this.#writing);
    await this.#reconciler.whenIdle();
    await this.#indexer?.close();
    await this.#writer.close();
    this.#lock.release();
  }

  /**
   * The thread that writes has died: what it had begun in these folders is ended or taken away, as at a start, before
   * anybody else changes them.
   */
  #clearAfter(folders: ReadonlySet<string>, ended: Promise<unknown>): void {
    const { dir, log } = this.#parts;
    log.error('the thread that writes files has died, and is started again');
    const leftovers = leftoversNow(dir);
    const inWork = [...folders].filter((folder) => folder !== dir);
    const names = inWork.map((folder) => basename(folder) as FeedName);
    const clears = inWork.map(async (folder, n) => {
      if (await this.#reconciler.clear(names[n]!, ended)) this.#writer.release(folder);
    });
    const released = ended.then(() => this.#writer.release(dir));
    const clearing = Promise.all([...clears, released]).then(() => {
      this.#order(names, true);
      for (const name of leftovers) this.#removeLater(name);
      this.#writing.delete(clearing);
    });
    this.#writing.add(clearing);
  }

  /** Removes something unfinished, or what is left of a deleted feed, from the data folder. */
  #removeLater(name: string): void {
    const readId = readIdOfTemp(name);
    const last = readId && (() => retire(this.#parts, readId));
    void this.#removals.remove(join(this.#parts.dir, name), undefined, last).catch(() => {});
  }

  #searchBy(indexer: NoteIndexer): void {
    const { index } = this.#parts;
    this.#indexer = indexer;
    index.onNotes = (feed, files) => indexer.changed(feed, files);
    this.search = async (admitted, search) => {
      const hasNotes = (index.admitted(admitted)?.notes.size ?? 0) > 0;
      if (!hasNotes) return NOTHING_FOUND;
      return foundPage(await indexer.find(admitted.name, search), search, async (files) => {
        const feed = index.admitted(admitted);
        return feed ? this.#reader.notes(feed, files) : { notes: [], count: files.length };
      });
    };
  }

  /** A write that the closing waits for. */
  async #write<T>(work: () => Promise<T>): Promise<T> {
    this.#mustBeUsable();
    const writing = work()
      .catch(refuse)
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    return writing;
  }

  #onNotice(notice: WatchNotice): void {
    if (notice.kind === 'marks') this.#keeper.take(notice);
    if (notice.kind === 'seen') this.#reconciler.take(notice.seen);
    if (notice.kind === 'record file') void this.#records.reload(notice.file);
    if (notice.kind === 'no events')
      this.#parts.log.warn('file events fail; changes are looked for instead', { code: notice.code });
    if (notice.kind !== 'root') return;
    // While the folder was away, the watch could not find feeds, and may not know them.
    this.#order(this.#parts.index.names());
    this.#lock.renew(this.#parts.log);
  }

  /** Orders the watch to look at feeds: `anew` to report them again, else to add them. */
  #order(feeds: readonly FeedName[], anew = false): void {
    this.#watch.order({ feeds, anew });
  }

  #mustBeUsable(): void {
    if (this.#isClosed) throw unavailable(new Error('the storage is closed'));
    if (!this.#lock.held) throw unavailable(new Error('the storage is not locked'));
  }
}

/** Warns at the start of feeds that may not work as the person who placed their folders expects. */
function warnOfOddFeeds(index: FeedIndex, log: Pick<Log, 'warn'>): void {
  for (const [feed] of index.waiting())
    log.warn(
      'two feeds have the same .readid, and the one whose name sorts first has the read link: put another ' +
        'read id into the .readid of this one, or remove that file',
      { feed },
    );
  const names = index.names().filter((name) => ROUTE_NAMES.has(name));
  const message =
    'folders in DATA_DIR are named like an address of the service, so nobody can post to these feeds';
  if (names.length > 0) log.warn(message, { names: names.sort() });
}
