import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { Gate } from '../../gate.ts';
import { NO_META } from '../metadata.ts';
import type { Note, NoteMeta, Page } from '../storage.ts';
import type { Entry } from './entry.ts';
import { asRefusal } from './failures.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { metaFile } from './names.ts';
import { readWhole, statFile } from './read-file.ts';
import { readMetaFile } from './read-metadata.ts';
import { type Stamp, sameStamp, settled, UNSEEN, UNSURE } from './stamp.ts';
import * as sys from './syscalls.ts';

/** A page of 50 small notes takes 4 to 8 ms from the disk and 0.1 ms from here. */
const CACHE_BYTES = 16 * 1024 * 1024;
/** What a note takes beside its texts, in bytes. */
const NOTE_OVERHEAD = 600;
/** Files open for reading at once: a bound on descriptors, and on the queue of the thread pool. */
const PARALLEL_READS = 32;
/** A file that is another one at each read is taken as it was read last. */
const MAX_ATTEMPTS = 3;

/** A file of a note and its state; undefined when it is not there or cannot be read. */
export interface FoundFile {
  readonly file: string;
  readonly stamp: Stamp | undefined;
}

/** Has files of a feed looked at again. Settles when the index says what they are, or that failed. */
export type LookAgain = (feed: IndexedFeed, found: readonly FoundFile[]) => Promise<void>;

interface Read {
  readonly meta: NoteMeta;
  readonly metaStamp: Stamp | undefined;
  /** Of the note's file; undefined when it is not there or cannot be read. */
  readonly stamp: Stamp | undefined;
  readonly content: Uint8Array | undefined;
}

/** Reads notes from their files and keeps the latest used ones. */
export class NoteReader {
  readonly #dir: string;
  readonly #lookAgain: LookAgain;
  readonly #gate = new Gate(PARALLEL_READS);
  readonly #loading = new Map<Entry, Promise<Note | undefined>>();
  readonly #cache = new LRUCache<Entry, Note>({
    maxSize: CACHE_BYTES,
    sizeCalculation: (note) => NOTE_OVERHEAD + (note.content?.byteLength ?? 0),
  });

  constructor(dir: string, lookAgain: LookAgain) {
    this.#dir = dir;
    this.#lookAgain = lookAgain;
  }

  /** The page of the first `limit` entries; more entries mean that there is a next page. */
  async loadPage(feed: IndexedFeed, entries: readonly Entry[], limit: number): Promise<Page> {
    const shown = entries.slice(0, limit);
    const notes = await Promise.all(shown.map((entry) => this.load(feed, entry)));
    const last = shown.at(-1);
    const next = last && entries.length > limit ? { createdAt: last.createdAt, file: last.file } : undefined;
    return { notes: notes.filter((note) => note !== undefined), next };
  }

  /** The note of an entry; undefined when its file is gone or cannot be read. */
  load(feed: IndexedFeed, entry: Entry): Promise<Note | undefined> | Note {
    const cached = this.#cache.get(entry);
    if (cached) return cached;
    let loading = this.#loading.get(entry);
    if (!loading) {
      loading = this.#gate.run(() => this.#load(feed, entry));
      this.#loading.set(entry, loading);
      const end = () => this.#loading.delete(entry);
      loading.then(end, end);
    }
    return loading;
  }

  /** The tags of a note, for the tag index. */
  readTags(feed: IndexedFeed, entry: Entry): Promise<readonly string[]> {
    return this.#gate.run(async () => {
      const { meta, metaStamp } = await this.#readMeta(feed, entry);
      if (isNews(entry, 'meta', metaStamp))
        this.#lookAgain(feed, [{ file: metaFile(entry.file), stamp: metaStamp }]);
      return meta.tags;
    });
  }

  /** Whether the note's file, which is opened, is the one of its entry. If not, it is looked at again. */
  isCurrent(feed: IndexedFeed, entry: Entry, opened: Stamp): boolean {
    if (isNews(entry, 'stamp', opened)) this.#lookAgain(feed, [{ file: entry.file, stamp: opened }]);
    return sameStamp(entry.stamp, opened);
  }

  /** The answer for a file that is not there; throws when that is because the whole data folder is away. */
  async absent(): Promise<undefined> {
    try {
      await sys.lstat(this.#dir);
    } catch (error) {
      throw asRefusal(error);
    }
  }

  /**
   * A file that is not as the entry says was changed by hand, or by a write that is not durable yet and may be taken back:
   * it is read again once it was looked at in its turn.
   */
  async #load(feed: IndexedFeed, asked: Entry): Promise<Note | undefined> {
    let entry: Entry | undefined = asked;
    for (let attempt = 1; entry; attempt += 1) {
      const read = await this.#read(feed, entry);
      const news = this.#news(entry, read);
      if (news.length === 0 || attempt === MAX_ATTEMPTS) {
        // What cannot be read may become readable without another stamp: the next report of it is news.
        if (news.length > 0) entry.stamp = UNSURE;
        return this.#noteOf(entry, read);
      }
      await this.#lookAgain(feed, news);
      entry = feed.notes.get(entry.file);
    }
    return undefined;
  }

  #noteOf(entry: Entry, { meta, stamp, content }: Read): Note | Promise<undefined> {
    if (!stamp) return this.absent();
    const { id, type, createdAt } = entry;
    const note: Note = { id, type, size: stamp.size, createdAt, meta, content };
    if (entry.stamp !== UNSURE && entry.meta !== UNSURE) this.#cache.set(entry, note);
    return note;
  }

  #news(entry: Entry, { stamp, metaStamp }: Read): FoundFile[] {
    const news: FoundFile[] = [];
    if (isNews(entry, 'stamp', stamp)) news.push({ file: entry.file, stamp });
    if (isNews(entry, 'meta', metaStamp)) news.push({ file: metaFile(entry.file), stamp: metaStamp });
    return news;
  }

  async #read(feed: IndexedFeed, entry: Entry): Promise<Read> {
    const ofMeta = await this.#readMeta(feed, entry);
    const path = join(this.#dir, feed.name, entry.file);
    if (entry.type === 'md') {
      const whole = await readWhole(path);
      return { ...ofMeta, stamp: whole?.stamp, content: whole?.bytes };
    }
    const isKnown = entry.stamp !== UNSEEN && entry.stamp !== UNSURE;
    return { ...ofMeta, stamp: isKnown ? entry.stamp : await statFile(path), content: undefined };
  }

  async #readMeta(feed: IndexedFeed, entry: Entry): Promise<Pick<Read, 'meta' | 'metaStamp'>> {
    const found = entry.meta && (await readMetaFile(join(this.#dir, feed.name), entry.file));
    return { meta: found?.meta ?? NO_META.meta, metaStamp: found?.stamp };
  }
}

/** Whether a file is not as the entry says. The first look at a file only shows how it is. */
function isNews(entry: Entry, which: 'stamp' | 'meta', found: Stamp | undefined): boolean {
  if (entry[which] === UNSEEN && found) entry[which] = settled(found);
  return entry[which] !== UNSURE && !sameStamp(entry[which], found);
}
