import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { FolderSeen } from '../../../workers/watch-files.ts';
import type { FileSeen } from '../../../workers/watched-folder.ts';
import { type FeedName, isFeedName, type NoteFile } from '../../feeds/names.ts';
import { Refusal } from '../../refusals.ts';
import { type Entry, isDatedByFile } from './entry.ts';
import { asRefusal } from './failures.ts';
import type { FeedFiles, IndexedFeed } from './indexed-feed.ts';
import { isFeedFile, metaFile, noteOfMetaFile } from './names.ts';
import { isFolder, statFile } from './read-file.ts';
import { readFeedFiles } from './read-metadata.ts';
import { readEntry, scanFeed } from './scan.ts';
import { compareStamps, isFresh, sameStamp, UNSEEN } from './stamp.ts';
import type { WriteParts } from './write-parts.ts';

/** After this many ms a change that could not be taken in is tried again. */
const RETRY_MS = 500;

type Seen = FileSeen | FolderSeen;
type ReconcilerParts = Pick<WriteParts, 'dir' | 'index' | 'reader' | 'turns' | 'log'>;

/**
 * Brings the index in line with what the watch saw. It compares with what is known, so the service's own writes,
 * which the watch sees too, change nothing.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #lookAnew: (feed: FeedName) => void;
  readonly #stopped = new AbortController();
  #last: Promise<void> = Promise.resolve();
  /** What could not be taken in, by its path. */
  readonly #failed = new Map<string, Seen>();
  #isWaiting = false;

  /** @param lookAnew has the watch tell again whether a feed's folder is there */
  constructor(parts: ReconcilerParts, lookAnew: (feed: FeedName) => void) {
    this.#parts = parts;
    this.#lookAnew = lookAnew;
  }

  /** Takes in what was seen, one batch after the other. */
  take(seen: readonly Seen[]): void {
    this.#last = this.#last.then(() => this.#apply(seen));
  }

  /** From now on a change that cannot be taken in is given up. */
  stopTrying(): void {
    this.#stopped.abort();
  }

  /** What is taken from now on waits for something else too, which must not fail. */
  after(other: Promise<void>): void {
    this.#last = this.#last.then(() => other);
  }

  /** Settles when all that was taken is in the index, or is to be tried again. */
  settled(): Promise<void> {
    return this.#last;
  }

  async #apply(seen: readonly Seen[]): Promise<void> {
    // What went comes first: a renamed folder keeps its read id.
    const folders = seen.filter((one) => 'folder' in one);
    for (const one of folders) if (one.folder !== 'there') await this.#try(one, () => this.#rescan(one));
    for (const one of folders) if (one.folder === 'there') await this.#try(one, () => this.#rescan(one));
    const touched = new Set<IndexedFeed>();
    const files = new Map<IndexedFeed, FileSeen>();
    for (const one of seen) {
      if (!('file' in one)) continue;
      await this.#try(one, async () => {
        const feed = isFeedName(one.feed) ? this.#parts.index.get(one.feed) : undefined;
        if (!feed) return;
        if (isFeedFile(one.file)) {
          if (!one.first) files.set(feed, one);
        } else if (await this.#noteFile(feed, one)) touched.add(feed);
      });
    }
    for (const [feed, one] of files) await this.#try(one, () => this.#feedFiles(feed));
    for (const feed of touched) if (this.#parts.index.get(feed.name) === feed) this.#parts.index.touch(feed);
  }

  /**
   * The watch tells of a change once, so while the disk fails, descriptors are short or a folder cannot be searched, it is
   * tried again; what else is seen does not wait for it.
   */
  async #try(one: Seen, takeIn: () => Promise<void>): Promise<void> {
    const path = 'file' in one ? join(one.feed, one.file) : one.feed;
    try {
      await takeIn();
      this.#failed.delete(path);
    } catch (error) {
      const err = asRefusal(error);
      if (this.#failed.size === 0) this.#parts.log.error('a change by hand could not be taken in', { err });
      if (!(err instanceof Refusal)) return;
      this.#failed.set(path, one);
      this.#tryAgainLater();
    }
  }

  async #tryAgainLater(): Promise<void> {
    if (this.#isWaiting || this.#stopped.signal.aborted) return;
    this.#isWaiting = true;
    await wait(RETRY_MS, undefined, this.#stopped).catch(() => undefined);
    this.#isWaiting = false;
    if (!this.#stopped.signal.aborted) this.take([...this.#failed.values()]);
  }

  /** Reads a folder that came, or that is gone or another one now; the report may be older than our own writes. */
  async #rescan({ feed: name, folder }: FolderSeen): Promise<void> {
    if (!isFeedName(name)) return;
    const { dir, index, turns, log } = this.#parts;
    await turns.alone(name, async () => {
      const known = index.get(name);
      const scan = () => scanFeed(dir, name, log);
      // A feed is not gone because the whole data folder is, which may come back between two looks.
      const scanned = (await scan()) ?? ((await isFolder(dir)) ? await scan() : known);
      // Nobody can tell what became of it, nor whether it has a password still.
      const found = scanned === 'unreadable' ? known : scanned;
      // It went since. If it is back before the watch looks again, the watch will have seen nothing.
      if (!scanned && folder !== 'gone') this.#lookAnew(name);
      if (found === known) return;
      if (known && found && (folder === 'there' || known.identity === found.identity))
        return this.#align(known, found);
      if (known) index.drop(known);
      if (found) index.add(found);
    });
  }

  /** The folder is known, made by the service itself: only what was done to it by hand meanwhile is news. */
  #align(known: IndexedFeed, found: IndexedFeed): void {
    const { index } = this.#parts;
    const gone = [...known.entries].filter((entry) => !found.entry(entry.file));
    const added = [...found.entries].filter((entry) => !known.entry(entry.file));
    for (const entry of gone) this.#gone(known, entry);
    for (const entry of added) known.put(entry);
    if (!sameFiles(known.files, found.files)) index.setFiles(known, found.files);
    else if (gone.length + added.length > 0) index.touch(known);
  }

  /** True when the feed's notes changed. */
  async #noteFile(feed: IndexedFeed, reported: FileSeen): Promise<boolean> {
    const note = noteOfMetaFile(reported.file);
    const file = note ?? (reported.file as NoteFile);
    const isMeta = note !== undefined;
    await feed.pending.get(file)?.catch(() => undefined);
    if (isKnown(feed.entry(file), isMeta, reported)) return false;
    const seen = await this.#lookAgain(feed, file, reported);
    if (!seen) return false;
    const entry = feed.entry(file);
    if (isMeta) return entry ? this.#metaFile(feed, entry, seen) : false;
    if (!seen.stamp) return this.#gone(feed, entry);
    return entry ? this.#changed(feed, entry, seen) : this.#added(feed, file);
  }

  /**
   * The report may be older than the service's own writes, so what it says is looked at while none of the note runs.
   * Undefined for a file that went only now, which will be reported by itself.
   */
  async #lookAgain(feed: IndexedFeed, file: NoteFile, reported: FileSeen): Promise<FileSeen | undefined> {
    const path = join(this.#parts.dir, feed.name, reported.file);
    for (;;) {
      await feed.pending.get(file)?.catch(() => undefined);
      const entry = feed.entry(file);
      const version = entry?.version;
      const stats = await statFile(path);
      if (feed.pending.has(file) || feed.entry(file) !== entry || entry?.version !== version) continue;
      if (stats) return { ...reported, stamp: stats, fresh: isFresh(stats) };
      return reported.stamp ? undefined : reported;
    }
  }

  #gone(feed: IndexedFeed, entry: Entry | undefined): boolean {
    if (!entry) return false;
    feed.remove(entry.file);
    this.#parts.reader.forget(entry);
    return true;
  }

  async #added(feed: IndexedFeed, file: NoteFile): Promise<boolean> {
    const { dir } = this.#parts;
    const folder = join(dir, feed.name);
    const hasMeta = (await statFile(join(folder, metaFile(file)))) !== undefined;
    const entry = await readEntry(folder, file, hasMeta);
    if (!entry || !(await statFile(join(folder, file))) || feed.entry(file)) return false;
    feed.put(entry);
    return true;
  }

  async #changed(feed: IndexedFeed, entry: Entry, { stamp: seen, fresh }: FileSeen): Promise<boolean> {
    const { stamp, changed } = compareStamps(entry.stamp, seen!, fresh);
    const heard = changed || entry.stamp === UNSEEN;
    entry.stamp = stamp;
    if (heard) await this.#refresh(feed, entry);
    return heard;
  }

  async #metaFile(feed: IndexedFeed, entry: Entry, { stamp: seen, fresh }: FileSeen): Promise<boolean> {
    if (!seen) {
      if (!entry.meta) return false;
      entry.meta = undefined;
    } else {
      const known = entry.meta ?? UNSEEN;
      const { stamp, changed } = compareStamps(known, seen, fresh);
      entry.meta = stamp;
      if (!changed && known !== UNSEEN) return false;
    }
    await this.#refresh(feed, entry);
    return true;
  }

  /** Drops what was made from the note as it was; its date may have moved with it. */
  async #refresh(feed: IndexedFeed, entry: Entry): Promise<void> {
    this.#parts.reader.forget(entry);
    if (!isDatedByFile(entry.id)) {
      feed.tags?.changed(entry);
      return;
    }
    const dated = await readEntry(join(this.#parts.dir, feed.name), entry.file, entry.meta !== undefined);
    if (dated && feed.entry(entry.file) === entry)
      feed.put({ ...dated, stamp: entry.stamp, meta: entry.meta });
  }

  async #feedFiles(feed: IndexedFeed): Promise<void> {
    const { dir, index, turns, log } = this.#parts;
    await turns.alone(feed.name, async () => {
      if (index.get(feed.name) !== feed) return;
      const files = await readFeedFiles(join(dir, feed.name), log);
      if (files && !sameFiles(files, feed.files)) index.setFiles(feed, files);
    });
  }
}

function sameFiles(a: FeedFiles, b: FeedFiles): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The report says nothing new: it is of the service's own write, or a first look at what nobody has looked at yet. */
function isKnown(entry: Entry | undefined, isMeta: boolean, { stamp, first }: FileSeen): boolean {
  const known = isMeta ? entry?.meta : entry?.stamp;
  if (known === undefined || stamp === undefined) return false;
  return sameStamp(known, stamp) || (known === UNSEEN && first);
}
