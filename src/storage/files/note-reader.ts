import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { Gate } from '../../gate.ts';
import { NO_META } from '../metadata.ts';
import type { Note, NoteMeta } from '../storage.ts';
import type { Entry } from './entry.ts';
import { asRefusal } from './failures.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { readWhole, statFile } from './read-file.ts';
import { readMetaFile } from './read-metadata.ts';
import { compareStamps, isFresh, type Stamp, UNSEEN, UNSURE } from './stamp.ts';
import * as sys from './syscalls.ts';

/** A page of 50 small notes takes 4 to 8 ms from the disk and 0.1 ms from here. */
const CACHE_BYTES = 16 * 1024 * 1024;
/** What a note takes beside its texts, in bytes. */
const NOTE_OVERHEAD = 600;
/** Files open for reading at once: a bound on descriptors, and on the queue of the thread pool. */
const PARALLEL_READS = 32;

/** Reads notes from their files and keeps the latest used ones. */
export class NoteReader {
  readonly #dir: string;
  readonly #onFound: (feed: IndexedFeed) => void;
  readonly #gate = new Gate(PARALLEL_READS);
  readonly #held = new Map<Entry, Note>();
  readonly #loading = new Map<Entry, Promise<Note | undefined>>();
  readonly #cache = new LRUCache<Entry, Note>({
    maxSize: CACHE_BYTES,
    sizeCalculation: (note) => NOTE_OVERHEAD + (note.content?.byteLength ?? 0),
  });

  /** `onFound` hears of a note that turned out to be changed by hand. */
  constructor(dir: string, onFound: (feed: IndexedFeed) => void) {
    this.#dir = dir;
    this.#onFound = onFound;
  }

  /** The note of an entry; undefined when its file is gone or cannot be read. */
  load(feed: IndexedFeed, entry: Entry): Promise<Note | undefined> | Note {
    const cached = this.#held.get(entry) ?? this.#cache.get(entry);
    if (cached) return cached;
    let loading = this.#loading.get(entry);
    if (!loading) {
      loading = this.#gate.run(() => this.#read(feed, entry));
      this.#loading.set(entry, loading);
      const end = () => this.#loading.get(entry) === loading && this.#loading.delete(entry);
      loading.then(end, end);
    }
    return loading;
  }

  /** From now on `load` gives the note as it is now, whatever happens to its files, until it is forgotten. */
  async hold(feed: IndexedFeed, entry: Entry): Promise<void> {
    const note = await this.load(feed, entry);
    if (note) this.#held.set(entry, note);
  }

  /** The note may have changed: what is kept of it, or is being read, is out of date. */
  forget(entry: Entry): void {
    entry.version += 1;
    entry.sha256 = undefined;
    this.#held.delete(entry);
    this.#cache.delete(entry);
    this.#loading.delete(entry);
  }

  /** The tags of a note, for the tag index. */
  readTags(feed: IndexedFeed, entry: Entry): Promise<readonly string[]> {
    return this.#gate.run(async () => (await this.#readMeta(feed, entry)).tags);
  }

  async #readMeta(feed: IndexedFeed, entry: Entry): Promise<NoteMeta> {
    const { version } = entry;
    const found = entry.meta && (await readMetaFile(join(this.#dir, feed.name), entry.file));
    if (!found) return NO_META.meta;
    if (entry.meta && entry.version === version && !feed.pending.has(entry.file)) {
      const { stamp, changed } = compareStamps(entry.meta, found.stamp, isFresh(found.stamp));
      entry.meta = stamp;
      if (changed) this.#found(feed, entry);
    }
    return found.meta;
  }

  async #read(feed: IndexedFeed, entry: Entry): Promise<Note | undefined> {
    const { version } = entry;
    const meta = await this.#readMeta(feed, entry);
    const found = await this.#readBytes(feed, entry);
    if (!found) {
      // What could not be read may become readable without changing its stamp: the next event is news.
      entry.stamp = UNSURE;
      return this.absent();
    }
    const { id, type, createdAt } = entry;
    const note: Note = { id, type, size: found.stamp.size, createdAt, meta, content: found.content };
    if (entry.version === version) this.see(feed, entry, found.stamp);
    const sure = entry.stamp !== UNSURE && entry.meta !== UNSURE && !feed.pending.has(entry.file);
    if (sure && entry.version === version) this.#cache.set(entry, note);
    return note;
  }

  async #readBytes(
    feed: IndexedFeed,
    entry: Entry,
  ): Promise<{ stamp: Stamp; content?: Uint8Array } | undefined> {
    const path = join(this.#dir, feed.name, entry.file);
    if (entry.type === 'md') {
      const whole = await readWhole(path);
      return whole && { stamp: whole.stamp, content: whole.bytes };
    }
    if (entry.stamp !== UNSEEN && entry.stamp !== UNSURE) return { stamp: entry.stamp };
    const stats = await statFile(path);
    return stats && { stamp: stats };
  }

  /**
   * Remembers the state of a note's file as it was just read, and tells when it shows an unheard change. What is
   * seen of a note being written is no news: it may be taken back, and is told when it is durable.
   */
  see(feed: IndexedFeed, entry: Entry, seen: Stamp): void {
    if (feed.pending.has(entry.file)) return;
    const { stamp, changed } = compareStamps(entry.stamp, seen, isFresh(seen));
    entry.stamp = stamp;
    if (changed) this.#found(feed, entry);
  }

  #found(feed: IndexedFeed, entry: Entry): void {
    this.forget(entry);
    feed.tags?.changed(entry);
    this.#onFound(feed);
  }

  /** The answer for a file that is not there; throws when that is because the whole data folder is away. */
  async absent(): Promise<undefined> {
    try {
      await sys.lstat(this.#dir);
    } catch (error) {
      throw asRefusal(error);
    }
  }
}
