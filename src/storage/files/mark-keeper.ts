import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FeedName } from '../../feeds/names.ts';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Failure, fromFailure } from '../failures.ts';
import type { KeyedLock } from '../keyed-lock.ts';
import { type FileWriter, fileTime } from './durable.ts';
import { asRefusal, unavailable } from './failures.ts';
import type { FeedIndex } from './feed-index.ts';
import { findMarks, type MarksRead } from './find-marks.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { endLine, lineOf, type Mark } from './marks.ts';
import { MARKS_FILE } from './names.ts';
import { statFile } from './read-file.ts';

/** When `.marks` is written, and for what it vouches. */
export interface MarksLimits {
  /** After how many changed metadata files it is written. A start reads the files that have changed since. */
  readonly unsaved: number;
  /** How late the index may learn of a changed file, plus how far clocks may differ, ms. */
  readonly marginMs: number;
  /** It is written whole if it has more lines than this and twice the number of marks together. */
  readonly spareLines: number;
}

export const MARKS_LIMITS: MarksLimits = { unsaved: 256, marginMs: 120_000, spareLines: 1_024 };

/** Marks that are written in one turn of the event loop. */
const AT_ONCE = 5_000;
/** After this many ms a feed that could not be looked at is looked at again. */
const AGAIN_MS = 10_000;

/** Asks the thread that watches the folder for the marks of a feed. */
export interface MarksOrder {
  readonly marksOf: FeedName;
  readonly look: number;
}

/** Asks the watch to list the folder of a feed again, although it may have the same time as before. */
export interface ListOrder {
  readonly listOf: FeedName;
}

/** The answer to a `MarksOrder`, in parts. */
export interface MarksNotice {
  readonly kind: 'marks';
  readonly look: number;
  readonly marks: readonly Mark[];
  /** Of the last part. */
  readonly end?: MarksRead | undefined;
  readonly failure?: Failure | undefined;
}

interface Look extends PromiseWithResolvers<void> {
  readonly feed: IndexedFeed;
  /** See `IndexedFeed.failedWrites`; when it began. */
  readonly failedWrites: number;
}

interface KeeperParts {
  readonly dir: string;
  readonly index: Pick<FeedIndex, 'get'>;
  readonly writer: FileWriter;
  readonly locks: KeyedLock<string>;
  readonly log: Pick<Log, 'warn'>;
  readonly marksLimits: MarksLimits;
}

/**
 * Keeps keys and expiries of notes at hand, so that no request reads all metadata of a feed. They are in memory, and on
 * the disk in the `.marks` of a feed with many metadata files. That file only saves a start from reading all metadata: it may be
 * out of date, so a start reads the metadata files that changed after it was written. No write waits for it.
 */
export class MarkKeeper {
  readonly #parts: KeeperParts;
  readonly #order: (order: MarksOrder | ListOrder) => void;
  readonly #looks = new Map<number, Look>();
  readonly #urgent = new Map<IndexedFeed, Promise<void>>();
  /** The size of `.marks` of a feed as it was last read or written. */
  readonly #saved = new WeakMap<IndexedFeed, Pick<MarksRead, 'bytes' | 'lines'>>();
  /** The time up to which `.marks` of a feed claims to be complete, ms since the epoch. */
  readonly #since = new WeakMap<IndexedFeed, number>();
  readonly #saving = new Map<IndexedFeed, Promise<void>>();
  readonly #wanted = new Set<IndexedFeed>();
  #isLooking = false;
  #count = 0;
  #failed: Error | undefined;

  constructor(parts: KeeperParts, order: (order: MarksOrder | ListOrder) => void) {
    this.#parts = parts;
    this.#order = order;
  }

  /**
   * Settles when the keys and expiries of all notes of a feed are known.
   * @throws Refusal `store_unavailable`
   */
  async whenMarked(feed: IndexedFeed): Promise<void> {
    if (feed.isMarked) return;
    const known = this.#urgent.get(feed);
    const look = known ?? this.#lookNow(feed).finally(() => this.#urgent.delete(feed));
    this.#urgent.set(feed, look);
    await look;
  }

  /** Looks at a feed in the background. */
  want(feed: IndexedFeed): void {
    if (feed.isMarked) return;
    this.#wanted.add(feed);
    if (!this.#isLooking) void this.#lookAtWanted();
  }

  /** A part of what was ordered. */
  take({ look: id, marks, end, failure }: MarksNotice): void {
    const look = this.#looks.get(id);
    if (!look) return;
    const { feed } = look;
    feed.addFound(marks);
    if (!end && !failure) return;
    this.#looks.delete(id);
    if (failure) look.reject(fromFailure(failure));
    else if (feed.failedWrites > look.failedWrites) look.reject(unavailable());
    else {
      look.resolve();
      this.#complete(feed, end!);
    }
  }

  /**
   * Writes `.marks` of a feed if enough has changed since it was written. Writes it also if the clock was set back, so that the
   * file vouches for a time that is still to come: a start after that time would miss the changes until then.
   */
  saveSome(feed: IndexedFeed): void {
    const isEnough = feed.unsaved >= this.#parts.marksLimits.unsaved;
    const isAhead = (this.#since.get(feed) ?? 0) > Date.now();
    if (
      !(isEnough || isAhead) ||
      !feed.isMarked ||
      feed.unreadable?.size ||
      this.#saving.has(feed) ||
      this.#failed
    )
      return;
    const saving = this.#save(feed).finally(() => this.#saving.delete(feed));
    this.#saving.set(feed, saving);
  }

  /** The thread has died: the looks that it had are made again later. */
  lost(cause: unknown): void {
    for (const { reject } of this.#looks.values()) reject(unavailable(cause));
    this.#looks.clear();
  }

  /** The thread is about to be ended. */
  async end(cause: unknown): Promise<void> {
    this.#failed = unavailable(cause);
    this.lost(cause);
    await Promise.all(this.#saving.values());
  }

  async #lookAtWanted(): Promise<void> {
    this.#isLooking = true;
    // Not before the turn in which all feeds of a start are added has ended.
    await nextTurn();
    for (const feed of this.#wanted) {
      this.#wanted.delete(feed);
      if (feed.isMarked || this.#parts.index.get(feed.name) !== feed) continue;
      await this.#look(feed).catch(() => {
        if (!this.#failed) setTimeout(() => this.want(feed), AGAIN_MS).unref();
      });
    }
    this.#isLooking = false;
  }

  /** On this thread, because the other one has to wait while the processor is busy. */
  async #lookNow(feed: IndexedFeed): Promise<void> {
    const folder = join(this.#parts.dir, feed.name);
    try {
      for (;;) {
        const { failedWrites } = feed;
        await this.#finishUndo(feed);
        const read = await findMarks(folder, nextTurn, (marks) => feed.addFound(marks));
        if (feed.failedWrites === failedWrites) return this.#complete(feed, read);
      }
    } catch (error) {
      throw asRefusal(error);
    }
  }

  /** The metadata that a refused removal has moved away are those of notes all the same. */
  async #finishUndo({ name }: IndexedFeed): Promise<void> {
    const { dir, writer } = this.#parts;
    await writer.finishUndo(join(dir, name)).catch((error) => {
      throw unavailable(error);
    });
  }

  #complete(feed: IndexedFeed, read: MarksRead): void {
    if (feed.isMarked) return;
    feed.isMarked = true;
    feed.unsaved += read.unsaved;
    this.#since.set(feed, read.since);
    // Otherwise `.marks` is written whole: if lines were only added, it would vouch for files whose marks it lacks.
    if (read.unsaved === 0) this.#saved.set(feed, read);
    else this.#saved.delete(feed);
    this.saveSome(feed);
  }

  async #look(feed: IndexedFeed): Promise<void> {
    const { failedWrites } = feed;
    await this.#finishUndo(feed);
    if (this.#failed) throw this.#failed;
    this.#count += 1;
    const look = { ...Promise.withResolvers<void>(), feed, failedWrites };
    this.#looks.set(this.#count, look);
    this.#order({ marksOf: feed.name, look: this.#count });
    await look.promise;
  }

  async #save(feed: IndexedFeed): Promise<void> {
    const { index, locks, log, marksLimits } = this.#parts;
    const since = Date.now() - marksLimits.marginMs;
    // A write adds its marks to the index when it is done. Its files may be there long before.
    await locks.settled(feed.name);
    const changed = feed.changedMarks;
    feed.changedMarks = undefined;
    feed.unsaved = 0;
    try {
      await locks.shared(feed.name, async () => {
        if (index.get(feed.name) === feed) await this.#write(feed, [...(changed ?? [])], since);
      });
      this.#since.set(feed, since);
    } catch (error) {
      for (const file of changed ?? []) feed.recordMarkChange(file);
      log.warn('the file .marks of a feed could not be written', {
        feed: feed.name,
        code: errorCode(error) ?? errorCode((error as Error).cause),
      });
    }
  }

  async #write(feed: IndexedFeed, changed: Mark['file'][], since: number): Promise<void> {
    const { dir, writer, marksLimits } = this.#parts;
    const folder = join(dir, feed.name);
    const { bytes, lines } = this.#saved.get(feed) ?? { bytes: 0, lines: 0 };
    const size = (await statFile(join(folder, MARKS_FILE)))?.size ?? 0;
    const { marks } = feed;
    const maxLines = marksLimits.spareLines + 2 * (marks?.size ?? 0);
    const isWhole = bytes === 0 || size !== bytes || lines > maxLines;
    const { version, changedAt } = feed.record();
    const files = isWhole ? [...(marks?.files() ?? [])] : changed;
    const parts: Buffer[] = [];
    for (let at = 0; at < files.length; at += AT_ONCE) {
      if (at > 0) await nextTurn();
      const some = files.slice(at, at + AT_ONCE).map((file) => lineOf(marks?.get(file) ?? { file }));
      parts.push(Buffer.from(some.join('')));
    }
    const text = Buffer.concat([...parts, Buffer.from(endLine(since))]);
    // Until it is known to be written, nothing may be added to it.
    this.#saved.set(feed, { bytes: -1, lines: 0 });
    if (isWhole) await writer.change(folder, [{ name: MARKS_FILE, bytes: text }]);
    else await writer.append(folder, MARKS_FILE, text);
    const before = isWhole ? { bytes: 0, lines: 0 } : { bytes, lines };
    this.#saved.set(feed, {
      bytes: before.bytes + text.byteLength,
      lines: before.lines + files.length + 1,
    });
    // The time of the folder is that of the feed's last change.
    if (!isWhole || feed.record().version !== version) return;
    await utimes(folder, new Date(), fileTime(changedAt)).catch(() => {});
    // A file that came by hand meanwhile had given the folder another time. The watch cannot see that time any more.
    this.#order({ listOf: feed.name });
  }
}
