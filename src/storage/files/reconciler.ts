import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { FeedName, NoteFile } from '../../feeds/names.ts';
import { Refusal } from '../../refusals.ts';
import { arrivalOf } from './arrival-log.ts';
import { asRefusal, unavailable } from './failures.ts';
import { readMark } from './find-marks.ts';
import type { IndexChange, IndexedFeed } from './indexed-feed.ts';
import type { Mark } from './marks.ts';
import {
  isFeedFile,
  LICENSE_FILE,
  metaFile,
  noteOfMetaFile,
  PASSWORD_FILE,
  READ_ID_FILE,
  SETTINGS_FILE,
} from './names.ts';
import type { Entry } from './note-list.ts';
import { findAgain, isFolder, isThere, mustHaveDataFolder } from './read-file.ts';
import { type FeedFiles, logOfFeed, readFeedFiles } from './read-metadata.ts';
import { MAX_FAILURES, readEntry, scanFeed } from './scan.ts';
import { type Stamp, sameStamp, UNSEEN } from './stamp.ts';
import type { WriteParts } from './writes.ts';

/** Interval of retrying reports that failed, ms. */
const RETRY_MS = 500;

/** What the watch found when it looked at one file of a feed. */
export interface FileSeen {
  readonly feed: FeedName;
  readonly file: string;
  /** Its state, or undefined when no regular file of that name is there (any more). */
  readonly stamp: Stamp | undefined;
  /** The first look at a file that existed when the watch began. */
  readonly first: boolean;
}

/** A feed's folder came, went, or is another one now. */
export interface FolderSeen {
  readonly feed: FeedName;
  readonly folder: 'there' | 'gone' | 'replaced';
}

type Seen = FileSeen | FolderSeen;
type ReconcilerParts = Pick<WriteParts, 'dir' | 'index' | 'locks' | 'log' | 'writer' | 'onLost'>;

/**
 * Brings the index in line with the data folder. A report of the watch, or of a read, only means "look again at these
 * files": the report may be older than the service's own writes, so a step of the feed compares the files.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  #last: Promise<unknown> = Promise.resolve();
  readonly #looks = new Set<Promise<void>>();
  /** Reports to retry, by path. */
  readonly #failed = new Map<string, Seen>();
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** Processes reports: folders batch by batch, then the files of each feed. */
  take(seen: readonly Seen[]): void {
    this.#last = this.#last.then(() => this.#takeIn(seen));
  }

  /** Compares files of a feed with the index, in a step if they differ. */
  look(feed: FeedName, seen: readonly FileSeen[]): Promise<void> {
    const look = this.#try(seen, () => this.#look(feed, seen)).finally(() => this.#looks.delete(look));
    this.#looks.add(look);
    return look;
  }

  stopTrying(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Lets later reports wait for a promise too, which must not fail. */
  after(other: Promise<void>): void {
    this.#last = this.#last.then(() => other);
  }

  /** Settles when all reports so far are processed or waiting for a retry. */
  async whenIdle(): Promise<void> {
    await this.#last;
    await Promise.all(this.#looks);
  }

  async #takeIn(seen: readonly Seen[]): Promise<void> {
    const folders = seen.filter((one) => 'folder' in one);
    // Removed folders first, so that a renamed one keeps its read id.
    folders.sort((a, b) => Number(a.folder === 'there') - Number(b.folder === 'there'));
    for (const one of folders) await this.#rescan(one);
    const files = seen.filter((one) => 'file' in one);
    for (const [feed, ofFeed] of Map.groupBy(files, (one) => one.feed)) this.look(feed, ofFeed);
  }

  /**
   * The watch reports a change once, so it is retried while the disk fails, descriptors are exhausted or a folder cannot be
   * searched. Other reports do not wait for it.
   */
  async #try(seen: readonly Seen[], takeIn: () => Promise<void>): Promise<void> {
    try {
      await takeIn();
      // A first look of the watch may succeed without reading the file; it must not end the retry of an earlier report.
      for (const one of seen) if (this.#failed.get(pathOf(one)) === one) this.#failed.delete(pathOf(one));
    } catch (error) {
      const err = asRefusal(error);
      if (this.#failed.size === 0)
        this.#parts.log.error('a change by hand could not be taken in', { feed: seen[0]?.feed, err });
      if (!(err instanceof Refusal)) return;
      for (const one of seen) this.#failed.set(pathOf(one), unconditional(one));
      if (this.#isStopped) return;
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.take([...this.#failed.values()]);
      }, RETRY_MS);
    }
  }

  /**
   * Waits until the dead writer's thread has ended, completes or removes what it had begun in the folder of a feed, and reads the
   * folder. It is alone with the feed, so that whoever sends a post again finds the one that was stored.
   * @returns whether this was done; it is tried until the storage is closed
   */
  async clear(name: FeedName, writerEnded: Promise<unknown>): Promise<boolean> {
    for (let attempt = 1; !this.#isStopped; attempt += 1) {
      try {
        await this.#parts.locks.exclusive(name, async () => {
          await writerEnded;
          await this.#readFolder({ feed: name, folder: 'there' }, true);
        });
        return true;
      } catch (error) {
        const fields = { feed: name, err: asRefusal(error) };
        if (attempt === 1)
          this.#parts.log.error('a write that a dead thread had begun cannot be ended yet', fields);
        await delay(RETRY_MS);
      }
    }
    return false;
  }

  /** Reads a folder that came, went or was replaced, again later if that fails. The report may be older than our own writes. */
  #rescan(seen: FolderSeen): Promise<void> {
    return this.#try([seen], () => this.#parts.locks.exclusive(seen.feed, () => this.#readFolder(seen)));
  }

  async #readFolder({ feed: name, folder }: FolderSeen, clean = false): Promise<void> {
    const { dir, index, log, onLost, writer } = this.#parts;
    // Files that a refused write has left are no change by hand, so they are undone first. Those of a dead thread the scan ends.
    if (!clean) await writer.finishUndo(join(dir, name));
    const known = index.get(name);
    // A file that cannot be read keeps no other from showing. What a dead thread had begun is ended only if all can be read.
    const failed = new Map<NoteFile, unknown>();
    const scan = () => scanFeed(dir, name, log, clean ? { clean } : { failed });
    // While the whole data folder is away, this throws: its feeds stay, and are looked at when it is back.
    const scanned = await findAgain(dir, scan);
    if (clean && scanned === 'unreadable') throw unavailable();
    // Its state is unknown, and so is whether it still has a password.
    const found = scanned === 'unreadable' ? known : scanned;
    // The folder has gone. If it returned before the watch's next look, nothing would report it.
    if (!scanned && folder !== 'gone') onLost(name);
    if (found === known) return;
    const isSameFeed = known && found && (folder === 'there' || known.identity === found.identity);
    const kept = isSameFeed ? known : found;
    if (kept) for (const file of failed.keys()) addUnreadable(kept, file);
    if (isSameFeed) await this.#align(known, found, failed);
    else {
      if (known) index.drop(known);
      if (found) index.add(found);
    }
    // Those behind so many were not looked at.
    if (failed.size > MAX_FAILURES) for (const error of failed.values()) throw error;
    const again = [...failed.keys()].map((file) => ({ feed: name, file, stamp: UNSEEN, first: false }));
    if (again.length > 0) void this.look(name, again);
  }

  /**
   * The folder was created by the service, so apply only the differences made by hand since.
   * @param failed notes that could not be read, with their errors; gets more of them
   */
  async #align(known: IndexedFeed, found: IndexedFeed, failed: Map<NoteFile, unknown>): Promise<void> {
    const [before, now] = [new Set(known.notes.files()), new Set(found.notes.files())];
    const [hadMeta, hasMeta] = [new Set(known.notes.filesWithMeta()), new Set(found.notes.filesWithMeta())];
    const gone = [...before].filter((file) => !now.has(file) && !failed.has(file));
    const added = [...now].filter((file) => !before.has(file));
    // No look at files finds the metadata file that was removed while nobody watched.
    const bare = [...now].filter((file) => before.has(file) && hadMeta.has(file) && !hasMeta.has(file));
    const put: Entry[] = [];
    const marks: Mark[] = [];
    for (const file of [...added, ...bare]) {
      const entry = found.notes.get(file)!;
      try {
        await this.#addFound(known, entry, { put, marks });
      } catch (error) {
        failed.set(file, error);
        addUnreadable(known, file);
      }
      if (failed.size > MAX_FAILURES) break;
    }
    this.#apply(known, { gone, put, files: found.files, marks });
  }

  async #look(name: FeedName, seen: readonly FileSeen[]): Promise<void> {
    const { index, locks } = this.#parts;
    // Its folder could be listed but not searched when it was to be read.
    if (!index.get(name) && seen.some(({ stamp }) => stamp))
      return this.#rescan({ feed: name, folder: 'there' });
    const findChanged = () => {
      const feed = index.get(name);
      return feed ? seen.filter((one) => differs(feed, one)) : [];
    };
    // Most differences are of running posts and vanish with them, so posts do not wait for a step. What does not differ may differ then:
    // a step that runs may have looked at a file before it came back.
    await locks.settled(name);
    if (findChanged().length === 0) return;
    await locks.exclusive(name, async () => {
      const changed = findChanged();
      if (changed.length > 0) await this.#lookAt(index.get(name)!, changed);
    });
  }

  async #lookAt(feed: IndexedFeed, changed: readonly FileSeen[]): Promise<void> {
    const { dir, log, writer } = this.#parts;
    const folder = join(dir, feed.name);
    await writer.finishUndo(folder);
    const put: Entry[] = [];
    const absent: NoteFile[] = [];
    const marks: Mark[] = [];
    const failures: unknown[] = [];
    const seenFiles = new Set(changed.map(({ file }) => file));
    const lookAt = async (file: NoteFile) => {
      const known = feed.notes.get(file);
      const hasMeta = known?.meta !== undefined || seenFiles.has(metaFile(file));
      const entry = await readEntry(dir, folder, file, { known, hasMeta });
      const isSame =
        known?.size === entry?.size &&
        sameStamp(known?.stamp, entry?.stamp) &&
        sameStamp(known?.meta, entry?.meta);
      if (entry && !isSame) await this.#addFound(feed, entry, { put, marks });
      if (!entry) absent.push(file);
    };
    for (const file of new Set(changed.map(noteOf))) {
      if (file === undefined) continue;
      // A file that cannot be read keeps no other from showing. After many, the folder or the disk is to blame.
      await lookAt(file).then(
        () => feed.unreadable?.delete(file),
        (error) => {
          addUnreadable(feed, file);
          failures.push(error);
        },
      );
      if (failures.length > MAX_FAILURES) throw failures[0];
    }
    const isOfFeed = changed.some(({ file }) => isFeedFile(file));
    const readFiles = () => readFeedFiles(folder, logOfFeed(log, feed.name));
    const read = isOfFeed ? await findAgain(dir, readFiles) : undefined;
    // The folder has gone, of which another report tells.
    if (isOfFeed && !read) return;
    const files = read && withReported(feed.files, read, changed);
    // This throws if the folder cannot be searched: nobody knows then whether the notes are gone.
    if (absent[0] !== undefined) await isThere(join(folder, absent[0]));
    // Without the folder nothing is known about its notes. If the whole data folder is absent, it may come back as it was.
    if (absent.length > 0 && !(await isFolder(folder))) return mustHaveDataFolder(dir);
    const gone = absent.filter((file) => feed.notes.get(file));
    this.#apply(feed, { put, gone, files, marks });
    if (failures.length > 0) throw failures[0];
  }

  /** Adds an entry and its mark. A new one came now, because listeners may know of later notes; one that replaces another gets the arrival of that. */
  async #addFound({ name }: IndexedFeed, entry: Entry, to: { put: Entry[]; marks: Mark[] }): Promise<void> {
    const mark = entry.meta && (await readMark(join(this.#parts.dir, name), entry.file));
    if (mark) to.marks.push(mark);
    to.put.push({ ...entry, arrivedAt: arrivalOf(entry, Date.now()) });
  }

  #apply(feed: IndexedFeed, { put = [], gone = [], files = feed.files, marks }: IndexChange): void {
    const isOther = JSON.stringify(files) !== JSON.stringify(feed.files);
    if (put.length + gone.length > 0 || isOther) this.#parts.index.apply(feed, { put, gone, files, marks });
  }
}

/**
 * The dot files of a feed: those that the watch has reported as they were found, the others as they were known. A file that the watch has not
 * reported stays out, because the watch would not report its removal either.
 */
function withReported(known: FeedFiles, found: FeedFiles, reports: readonly FileSeen[]): FeedFiles {
  const reported = new Set(reports.map(({ file }) => file));
  const by = (file: string) => (reported.has(file) ? found : known);
  const { license } = by(LICENSE_FILE);
  return {
    storedReadId: by(READ_ID_FILE).storedReadId,
    settings: by(SETTINGS_FILE).settings,
    passwordHash: by(PASSWORD_FILE).passwordHash,
    ...(license && { license }),
  };
}

/** A report to retry, which makes sure that its file is looked at: an older report may fail after a newer one and take its place. */
function unconditional(one: Seen): Seen {
  return 'file' in one ? { ...one, stamp: UNSEEN, first: false } : one;
}

function addUnreadable(feed: IndexedFeed, file: NoteFile): void {
  feed.unreadable ??= new Set();
  feed.unreadable.add(file);
}

function pathOf(one: Seen): string {
  return 'file' in one ? join(one.feed, one.file) : one.feed;
}

/** The note that a file belongs to; undefined for a dot file of the feed. */
function noteOf({ file }: FileSeen): NoteFile | undefined {
  return isFeedFile(file) ? undefined : (noteOfMetaFile(file) ?? (file as NoteFile));
}

/** Whether a seen file differs, or may differ, from the index. */
function differs({ notes }: IndexedFeed, seen: FileSeen): boolean {
  const { stamp, first } = seen;
  const file = noteOf(seen);
  if (file === undefined) return !first;
  const isMeta = file !== seen.file;
  // This is known also of a note that nobody has asked for. The first look at such a note is no change besides.
  if (isMeta ? notes.hasMetaOf(file) === !stamp : notes.sizeOf(file) !== stamp?.size) return true;
  const entry = first ? notes.getAsked(file) : notes.get(file);
  if (!entry) return false;
  const known = isMeta ? entry.meta : entry.stamp;
  return !(first && known === UNSEEN) && !sameStamp(known, stamp);
}
