import { constants } from 'node:fs';
import { join } from 'node:path';
import { collectGarbage } from '../../collect-garbage.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../../feeds/names.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import type { Owner } from '../../privileges.ts';
import type { Log } from '../../telemetry/log.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { unfinishedMove } from '../failures.ts';
import { KeyedLock } from '../keyed-lock.ts';
import type {
  AllowedFeed,
  Feed,
  FeedChange,
  Neighbours,
  Note,
  Page,
  PageQuery,
  Position,
  Storage,
  StoredFile,
} from '../storage.ts';
import type { NoteList } from './entry.ts';
import { asRefusal, unavailable } from './failures.ts';
import { FeedEditor } from './feed-editor.ts';
import { FeedIndex } from './feed-index.ts';
import { FeedMaker } from './feed-maker.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { FolderLock, LockKeeper } from './lock.ts';
import { readMoveMark } from './move-mark.ts';
import { type ChangedNote, NoteEditor } from './note-editor.ts';
import { NoteReader } from './note-reader.ts';
import { NoteWriter } from './note-writer.ts';
import { OpenedFile, openFile } from './read-file.ts';
import { Reconciler } from './reconciler.ts';
import { Removals } from './removals.ts';
import { RetiredReadIds, readRetired } from './retired-read-ids.ts';
import { scanAll } from './scan.ts';
import type { WriteParts } from './steps.ts';
import * as sys from './syscalls.ts';
import { TagIndex } from './tag-index.ts';
import { UsedTokens } from './used-tokens.ts';
import { startWatch, type Watch } from './watch.ts';
import { WriterThread } from './writer-thread.ts';

export interface FilesOptions {
  /** The data folder (DATA_DIR); must exist. */
  readonly dir: string;
  /** The server secret, which read ids of feeds without a stored one follow from. */
  readonly secret: Uint8Array;
  /** Who owns the files and folders made; the process's own user when absent. */
  readonly owner?: Owner | undefined;
  /** The most feeds there may be; 0 is no limit. */
  readonly maxFeeds: number;
  /** Checks licenses; undefined where none is needed. */
  readonly isLicenseValid?: LicenseCheck | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Observes writes and every sync of a folder; optional. */
  readonly commits?: CommitObserver | undefined;
  /** False: changes by hand are found by polling only, as if the kernel sent no events. */
  readonly events?: boolean;
}

const NO_NOTES: Page = { notes: [], next: undefined };

/**
 * Opens the storage on plain files (docs/specification.md, "Storage on the file backend"). Throws an error with a sentence for
 * the operator when another process uses the folder.
 */
export async function openFiles(options: FilesOptions): Promise<Storage> {
  const lock = await FolderLock.take(options.dir, options.owner);
  try {
    if ((await readMoveMark(options.dir)) !== undefined) throw unfinishedMove('The data folder (DATA_DIR)');
    const files = new FilesStorage(options, lock, await readRetired(options.dir));
    await files.start(options.events ?? true);
    return files;
  } catch (error) {
    await lock.release();
    throw error;
  }
}

class FilesStorage implements Storage {
  readonly #dir: string;
  readonly #log: Pick<Log, 'warn' | 'error'>;
  readonly #lock: LockKeeper;
  readonly #index: FeedIndex;
  readonly #reader: NoteReader;
  readonly #thread: WriterThread;
  readonly #writer: NoteWriter;
  readonly #noteEditor: NoteEditor;
  readonly #maker: FeedMaker;
  readonly #feedEditor: FeedEditor;
  readonly #removals: Removals;
  readonly #reconciler: Reconciler;
  readonly #tokens: UsedTokens;
  readonly #running = new Set<Promise<unknown>>();
  #watch: Watch | undefined;
  #isClosed = false;

  constructor(
    { dir, secret, owner, maxFeeds, isLicenseValid, log, commits }: FilesOptions,
    lock: FolderLock,
    retired: string,
  ) {
    this.#dir = dir;
    this.#log = log;
    // What is seen while the lock is taken anew is taken in after that.
    this.#lock = new LockKeeper(lock, log, (renewing) => this.#reconciler.after(renewing));
    const index = new FeedIndex(secret);
    const thread = new WriterThread(owner, commits);
    const parts: WriteParts = {
      dir,
      index,
      writer: thread,
      locks: new KeyedLock(),
      retired: new RetiredReadIds(dir, thread, retired),
      isLicenseValid,
      log,
    };
    this.#index = index;
    this.#reader = new NoteReader(dir, ({ name }, found) =>
      this.#reconciler.look(
        name,
        found.map((one) => ({ ...one, feed: name, first: false })),
      ),
    );
    this.#thread = thread;
    this.#removals = new Removals(log);
    this.#tokens = new UsedTokens(dir, thread);
    this.#writer = new NoteWriter(parts);
    this.#noteEditor = new NoteEditor(parts);
    this.#maker = new FeedMaker(parts, maxFeeds, (name) => this.#watch?.expect([name]));
    this.#feedEditor = new FeedEditor(parts, this.#removals);
    this.#reconciler = new Reconciler(parts, (name) => this.#watch?.lookAnew(name));
  }

  /** The watch begins before the scan, so that no change falls between the two. */
  async start(events: boolean): Promise<void> {
    const scanned = Promise.withResolvers<void>();
    this.#reconciler.after(scanned.promise);
    this.#watch = await startWatch(
      { dir: this.#dir, events },
      {
        seen: (seen) => this.#reconciler.take(seen),
        rootChanged: () => {
          // The watch says nothing of a feed that it looks for while the folder is away, and may not know it.
          this.#watch?.expect(this.#index.names());
          this.#lock.renew();
        },
        noEvents: (code) => this.#log.warn('file events fail; changes are looked for instead', { code }),
        failed: (err) => this.#log.error('changes by hand are not seen until the next start', { err }),
      },
    );
    this.#index.addAll(await scanAll(this.#dir, this.#removals, this.#log));
    await collectGarbage();
    scanned.resolve();
  }

  async feed(name: FeedName): Promise<Feed | undefined> {
    return this.#index.get(name)?.record();
  }

  feedToPost(name: FeedName): Promise<Feed | undefined> {
    return this.feed(name);
  }

  async feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    return this.#index.byReadId(readId)?.record();
  }

  async page(name: FeedName, { limit, before, tag }: PageQuery): Promise<Page> {
    const feed = this.#index.get(name);
    if (!feed) return NO_NOTES;
    const asked = tag === undefined ? feed.notes : await this.#tagged(feed, tag);
    return this.#reader.loadPage(feed, asked.older(before, limit + 1), limit);
  }

  async note(name: FeedName, id: NoteId): Promise<Note | undefined> {
    const feed = this.#index.get(name);
    const entry = feed?.entryOfId(id);
    return feed && entry ? this.#reader.load(feed, entry) : undefined;
  }

  async neighbours(name: FeedName, position: Position): Promise<Neighbours> {
    const all = this.#index.get(name)?.notes;
    return { older: all?.older(position, 1)[0]?.id, newer: all?.newer(position)?.id };
  }

  async open(name: FeedName, file: NoteFile): Promise<StoredFile | undefined> {
    const feed = this.#index.get(name);
    const entry = feed?.notes.get(file);
    if (!feed || !entry) return undefined;
    const opened = await openFile(join(this.#dir, name, file));
    if (!opened) return this.#reader.absent();
    const isCurrent = this.#reader.isCurrent(feed, entry, opened.stats);
    return new OpenedFile(opened.fd, opened.stats, isCurrent ? entry.sha256 : undefined);
  }

  async post(...[name, notes, target, limits]: Parameters<Storage['post']>): Promise<Feed | undefined> {
    const feed = await this.#write(async () => {
      if (target.kind === 'new') {
        const made = await this.#maker.make(name, target, { notes, limits });
        if (made === undefined || notes.length === 1) return made;
      }
      return this.#writer.post(name, notes, target, limits);
    });
    return feed?.record();
  }

  replace(...args: Parameters<Storage['replace']>): Promise<Note | undefined> {
    return this.#write(() => this.#noteEditor.replace(...args).then(this.#load));
  }

  setMeta(...args: Parameters<Storage['setMeta']>): Promise<Note | undefined> {
    return this.#write(() => this.#noteEditor.setMeta(...args).then(this.#load));
  }

  remove(...args: Parameters<Storage['remove']>): Promise<boolean> {
    return this.#write(() => this.#noteEditor.remove(...args));
  }

  async configure(...args: Parameters<Storage['configure']>): Promise<Feed | undefined> {
    return (await this.#write(() => this.#feedEditor.configure(...args)))?.record();
  }

  setPassword(...args: Parameters<Storage['setPassword']>): Promise<boolean> {
    return this.#write(() => this.#feedEditor.setPassword(...args));
  }

  async setLicense(...args: Parameters<Storage['setLicense']>): Promise<Feed | undefined> {
    return (await this.#write(() => this.#feedEditor.setLicense(...args)))?.record();
  }

  async create(...args: Parameters<Storage['create']>): Promise<Feed | undefined> {
    return (await this.#write(() => this.#maker.make(...args)))?.record();
  }

  deleteFeed(feed: AllowedFeed): Promise<boolean> {
    return this.#write(() => this.#feedEditor.deleteFeed(feed));
  }

  useToken(...args: Parameters<Storage['useToken']>): Promise<boolean> {
    return this.#write(() => this.#tokens.useToken(...args));
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#index.onChange(listener);
  }

  async check(): Promise<void> {
    this.#mustBeUsable();
    if (!this.#lock.isValid) throw unavailable(new Error('the data folder is not the one that was locked'));
    await sys.access(this.#dir, constants.R_OK | constants.W_OK).catch((error) => {
      throw asRefusal(error);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#watch?.close();
    // Before the writes that run: a deletion that waits for the files of a large feed must not keep the service from stopping.
    await this.#removals.close();
    await Promise.allSettled(this.#running);
    this.#reconciler.stopTrying();
    await this.#reconciler.settled();
    await this.#thread.close();
    await this.#lock.close();
  }

  /** A write that the closing waits for. */
  async #write<T>(work: () => Promise<T>): Promise<T> {
    this.#mustBeUsable();
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  readonly #load = async (changed: ChangedNote | undefined): Promise<Note | undefined> =>
    changed && this.#reader.load(changed.feed, changed.entry);

  #tagged(feed: IndexedFeed, tag: string): Promise<NoteList> {
    feed.tags ??= new TagIndex(feed.notes.withMeta(), (entry) => this.#reader.readTags(feed, entry));
    return feed.tags.tagged(tag);
  }

  #mustBeUsable(): void {
    if (this.#isClosed) throw unavailable(new Error('the storage is closed'));
    if (!this.#lock.isHeld) throw unavailable(new Error('the storage is not locked'));
  }
}
