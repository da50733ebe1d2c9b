import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { FeedName, NoteFile } from '../../feeds/names.ts';
import { isExpired, type Note, type NoteMeta } from '../../feeds/note.ts';
import type { LoadedNotes } from '../found-page.ts';
import { NO_META } from '../metadata.ts';
import { PAGE_TEXT_BYTES, type Page, type PageQuery, type StoredFile, type TagCount } from '../storage.ts';
import { unavailable } from './failures.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { metaFile } from './names.ts';
import type { Entry } from './note-list.ts';
import { mustHaveDataFolder, readPart, readWhole, statFile, statReadable } from './read-file.ts';
import { type FeedLog, logOfFeed, readMetaFile, UnreadableFile } from './read-metadata.ts';
import type { FileSeen } from './reconciler.ts';
import { dateOfFile, type Stamp, sameStamp, stampToKeep, UNSEEN, UNSURE } from './stamp.ts';
import { TagIndex } from './tag-index.ts';
import type { WriteParts } from './writes.ts';

/** A page of 50 small notes takes 4 to 8 ms from the disk and 0.1 ms from here. */
const CACHE_BYTES = 16 * 1024 * 1024;
/** Memory of a note besides its texts, bytes. */
const NOTE_OVERHEAD = 600;
/** Files open for reading at once: a bound on descriptors, and on the queue of the thread pool. */
const PARALLEL_READS = 32;
/** How many of them may be for the tags of one feed, which are read from all its notes: other reads must not wait for that. */
const PARALLEL_TAGS = 4;
/** Found notes are loaded in groups of this size, until their texts reach the limit of a page. */
const FOUND_AT_ONCE = 16;
/** A file that changes between any two reads is shown as it was read last. */
const MAX_ATTEMPTS = 3;

type ReaderParts = Pick<WriteParts, 'dir' | 'index' | 'locks' | 'log' | 'keeper' | 'writer'>;

const WHICH = ['stamp', 'meta'] as const;

/** Compares files of a feed with the index in a step. Settles after it, also if it failed. */
type LookAgain = (feed: FeedName, seen: readonly FileSeen[]) => Promise<void>;

/** States of the files of a note that were read; undefined for one that is not there or cannot be read. */
type Stamps = { readonly [which in (typeof WHICH)[number]]?: Stamp | undefined };

interface Read {
  readonly meta: NoteMeta;
  readonly others?: Note['others'];
  readonly content?: Uint8Array | undefined;
  readonly stamps: Stamps;
  /** When its file was made, if that was asked for. */
  readonly bornAt?: number | undefined;
}

/** Reads files of a note in the folder of its feed. */
type ReadFiles = (folder: string, entry: Entry, log: FeedLog) => Promise<Read>;

interface Found {
  readonly entry: Entry;
  readonly read: Read;
}

/** Reads notes from their files and keeps the latest used ones. */
export class NoteReader {
  readonly #parts: ReaderParts;
  readonly #lookAgain: LookAgain;
  readonly #atOnce = pLimit(PARALLEL_READS);
  readonly #loading = new Map<Entry, Promise<Note | undefined>>();
  readonly #cache = new LRUCache<Entry, Note>({
    maxSize: CACHE_BYTES,
    sizeCalculation: (note) => NOTE_OVERHEAD + (note.content?.byteLength ?? 0),
  });

  constructor(parts: ReaderParts, lookAgain: LookAgain) {
    this.#parts = parts;
    this.#lookAgain = lookAgain;
  }

  async page(feed: IndexedFeed, { limit, before, tag }: PageQuery): Promise<Page> {
    for (let attempt = 1; ; attempt += 1) {
      const { isMarked } = feed;
      const asked = tag === undefined ? feed.notes : await this.#tagsIn(feed).tagged(tag);
      const entries = asked.older(before, limit + 1, feed.marks && Date.now());
      const shown = entries.slice(0, limit);
      const loaded = await Promise.all(shown.map((entry) => this.#load(feed, entry)));
      // If somebody has replaced a file by hand just now, its note may have another date, and then belongs elsewhere.
      const inPlace = loaded.map((note, n) => (note?.createdAt === shown[n]!.createdAt ? note : undefined));
      if (attempt < MAX_ATTEMPTS && inPlace.some((note, n) => note !== loaded[n])) continue;
      const now = Date.now();
      const found = inPlace.filter((note) => note !== undefined);
      const notes = found.filter((note) => !isExpired(note, now));
      const last = shown.at(-1);
      const next =
        last && entries.length > limit ? { createdAt: last.createdAt, file: last.file } : undefined;
      if (isMarked || notes.length === found.length) return { notes, next };
      await this.#parts.keeper.whenMarked(feed);
    }
  }

  /** See `Storage.tags`. */
  async tags(feed: IndexedFeed, prefix: string): Promise<TagCount[]> {
    await this.#parts.keeper.whenMarked(feed);
    const expired = () => feed.marks?.expired(Date.now(), Number.POSITIVE_INFINITY) ?? [];
    return this.#tagsIn(feed).mostUsed(prefix, expired);
  }

  /** The note of an entry; undefined when it has expired, or its file is gone or cannot be read. */
  async note(feed: IndexedFeed, entry: Entry): Promise<Note | undefined> {
    const note = await this.#load(feed, entry);
    return note && !isExpired(note, Date.now()) ? note : undefined;
  }

  /** What the metadata of a note say; undefined when it has expired, or is gone. Its text, which may be long, is not read. */
  async meta(feed: IndexedFeed, entry: Entry): Promise<NoteMeta | undefined> {
    const found = await this.#atOnce(() => this.#readSettled(feed, entry, readMeta));
    return found && !isExpired(found.read, Date.now()) ? found.read.meta : undefined;
  }

  /** See `foundPage`. */
  async notes(feed: IndexedFeed, files: readonly NoteFile[]): Promise<LoadedNotes> {
    const notes: Note[] = [];
    let textBytes = 0;
    let count = 0;
    while (count < files.length && textBytes < PAGE_TEXT_BYTES) {
      const entries = files.slice(count, count + FOUND_AT_ONCE).map((file) => feed.notes.get(file));
      for (const note of await Promise.all(entries.map((entry) => entry && this.note(feed, entry)))) {
        if (note) notes.push(note);
        textBytes += note?.content?.byteLength ?? 0;
      }
      count += entries.length;
    }
    return { notes, count };
  }

  #load(feed: IndexedFeed, entry: Entry): Promise<Note | undefined> | Note {
    const cached = this.#cache.get(entry);
    if (cached) return cached;
    let loading = this.#loading.get(entry);
    if (!loading) {
      loading = this.#atOnce(() => this.#read(feed, entry));
      this.#loading.set(entry, loading);
      const end = () => this.#loading.delete(entry);
      loading.then(end, end);
    }
    return loading;
  }

  #tagsIn(feed: IndexedFeed): TagIndex {
    if (feed.tags) return feed.tags;
    const atOnce = pLimit(PARALLEL_TAGS);
    const tagsOf = (entry: Entry) => atOnce(() => this.#atOnce(() => this.#tagsOf(feed, entry)));
    feed.tags = new TagIndex(feed.notes, tagsOf, feed.expiryOf);
    return feed.tags;
  }

  async #tagsOf(feed: IndexedFeed, entry: Entry): Promise<readonly string[]> {
    return (await this.#readSettled(feed, entry, readMeta))?.read.meta.tags ?? [];
  }

  /** The file of an entry; undefined when it has expired, is gone or cannot be read. */
  async stat(feed: IndexedFeed, asked: Entry): Promise<StoredFile | undefined> {
    if (feed.marks && feed.expiryOf(asked.file) <= Date.now()) return undefined;
    const described =
      feed.isMarked || !asked.meta ? undefined : await this.#readSettled(feed, asked, readMeta);
    if (described && isExpired(described.read, Date.now())) return undefined;
    const found = await this.#readSettled(feed, asked, statNote);
    if (!found) return undefined;
    const { entry, read } = found;
    const { bornAt, stamps } = read;
    const { stamp } = stamps;
    if (!stamp) return undefined;
    const { dir, index } = this.#parts;
    // An import can bring back a note that was removed, with the same date and as many other bytes.
    const isSameNote = (stats: Stats) => feed.notes.get(entry.file) === entry || stats.birthtimeMs === bornAt;
    const isMeant = (stats: Stats) =>
      index.get(feed.name) === feed && sameStamp(stamp, stats) && isSameNote(stats);
    return {
      size: stamp.size,
      modifiedAt: dateOfFile(stamp),
      sha256: sameStamp(entry.stamp, stamp) ? entry.sha256 : undefined,
      expires: described ? described.read.meta.expires : feed.expiryOf(asked.file),
      read: (start, end) => readPart(join(dir, feed.name, entry.file), start, end, isMeant),
    };
  }

  async #read(feed: IndexedFeed, asked: Entry): Promise<Note | undefined> {
    const found = await this.#readSettled(feed, asked, readNote);
    if (!found) return undefined;
    const { entry, read } = found;
    const { meta, others, content } = read;
    const { stamp } = read.stamps;
    if (!stamp) return undefined;
    const { id, type, createdAt } = entry;
    const { size, mtimeMs: modifiedAt } = stamp;
    const note: Note = { id, type, size, createdAt, modifiedAt, meta, ...(others && { others }), content };
    if (entry.stamp !== UNSURE && entry.meta !== UNSURE) this.#cache.set(entry, note);
    return note;
  }

  /**
   * If the files differ from the entry, they were changed by hand: they are read again after a step has compared them.
   * Undefined if the note or the feed is gone by then.
   */
  async #readSettled(feed: IndexedFeed, asked: Entry, readFiles: ReadFiles): Promise<Found | undefined> {
    let entry: Entry | undefined = asked;
    for (let attempt = 1; entry; attempt += 1) {
      const found: Found | undefined = await this.#readDurable(feed, entry, readFiles);
      if (!found) return undefined;
      const differences = differencesOf(feed, found.entry, found.read.stamps);
      // An unreadable file may become readable without a new stamp, so the next report must count as a change.
      if (attempt === MAX_ATTEMPTS)
        for (const { file } of differences) found.entry[file === entry.file ? 'stamp' : 'meta'] = UNSURE;
      if (differences.length === 0 || attempt === MAX_ATTEMPTS) return found;
      await this.#lookAgain(feed.name, differences);
      entry = feed.notes.get(entry.file);
    }
    return undefined;
  }

  /**
   * What a running step changes may be taken back. So what was read of an edited note, and what was not there, is read
   * again between two steps. Undefined if the note is gone, or another feed has the folder.
   */
  async #readDurable(feed: IndexedFeed, asked: Entry, readFiles: ReadFiles): Promise<Found | undefined> {
    const { dir, index, locks, log, writer } = this.#parts;
    const folder = join(dir, feed.name);
    const readNow = async (entry: Entry): Promise<Found | undefined> => {
      const read = await readFiles(folder, entry, logOfFeed(log, feed.name));
      return index.get(feed.name) === feed ? { entry, read } : undefined;
    };
    const found = await readNow(asked);
    if (!found || (!asked.isEdited && hasAll(asked, found.read))) return found;
    return locks.shared(feed.name, async () => {
      const left: unknown = await writer.finishUndo(folder).then(undefined, (error) => error);
      const entry = feed.notes.get(asked.file);
      const again = entry && (await readNow(entry));
      if (!again || hasAll(again.entry, again.read)) return again;
      // A file that a refused write has moved away is one of the note all the same.
      if (left !== undefined) throw unavailable(left);
      await mustHaveDataFolder(dir);
      return again;
    });
  }
}

/** Whether all files that the entry says were there, of those that were read. */
function hasAll(entry: Entry, { stamps }: Read): boolean {
  return WHICH.every((which) => stamps[which] || !entry[which] || !(which in stamps));
}

async function statNote(folder: string, { file }: Entry): Promise<Read> {
  const stats = await statReadable(join(folder, file));
  return { meta: NO_META.meta, stamps: { stamp: stats }, bornAt: stats?.birthtimeMs };
}

async function readNote(folder: string, entry: Entry, log: FeedLog): Promise<Read> {
  const { meta, others, stamps } = await readMeta(folder, entry, log);
  const path = join(folder, entry.file);
  if (entry.type === 'md') {
    const whole = await readWhole(path);
    return { meta, others, stamps: { ...stamps, stamp: whole?.stamp }, content: whole?.bytes };
  }
  const isKnown = entry.stamp !== UNSEEN && entry.stamp !== UNSURE;
  return { meta, others, stamps: { ...stamps, stamp: isKnown ? entry.stamp : await statFile(path) } };
}

async function readMeta(folder: string, entry: Entry, log: FeedLog): Promise<Read> {
  try {
    const found = entry.meta && (await readMetaFile(folder, entry.file));
    const { meta, others } = found ?? NO_META;
    return { meta, others, stamps: { meta: found?.stamp } };
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    error.tell(log);
    return { meta: NO_META.meta, stamps: { meta: error.stamp } };
  }
}

/** The files whose stamps differ from the entry. The first look at a file, if its size is the one known, only records its stamp. */
function differencesOf(feed: IndexedFeed, entry: Entry, stamps: Stamps): FileSeen[] {
  return WHICH.flatMap((which) => {
    const stamp = stamps[which];
    const isCounted = which === 'meta' || stamp?.size === entry.size;
    if (entry[which] === UNSEEN && stamp && isCounted) entry[which] = stampToKeep(stamp);
    if (!(which in stamps) || entry[which] === UNSURE || sameStamp(entry[which], stamp)) return [];
    const file = which === 'meta' ? metaFile(entry.file) : entry.file;
    return [{ feed: feed.name, file, stamp, first: false }];
  });
}
