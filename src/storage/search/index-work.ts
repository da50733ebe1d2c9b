import type { FeedName, NoteFile } from '../../feeds/names.ts';
import type { Owner } from '../../privileges.ts';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { indexBroken } from '../failures.ts';
import { removeIndex } from '../index-place.ts';
import { IndexFile, toEnd } from './index-file.ts';
import { NoteIndex, type NoteIndexOptions } from './note-index.ts';
import type { NoteSource, SourceData } from './note-source.ts';

/** A comparison pauses after this time, ms, so that new changes do not wait longer. */
const STEP_MS = 25;
/** Changes are left for another call after this time, ms: 64 slow texts would keep those of other feeds waiting for 16 s. */
const UPDATE_MS = 100;

/** What the thread that makes the index is started with. */
export interface IndexThreadData {
  readonly file: string;
  readonly owner: Owner | undefined;
  readonly source: SourceData;
  /** The number of a comparison of all feeds; each new thread begins another one. */
  run: number;
  /** The index is of no use. */
  isBroken: boolean;
  /** Another thread of the same run has opened the index before. */
  isOpened: boolean;
  /** Where the thread says which note it reads: `NoteInWork.shared`. */
  readonly inWork: SharedArrayBuffer;
  /** The keys in `NoteInWork` of notes that must not be rendered. */
  asWritten: readonly string[];
}

export interface NoteChange {
  readonly feed: FeedName;
  readonly files: readonly NoteFile[];
}

export interface Progress {
  /** Nothing is to be compared. */
  readonly isDone: boolean;
  /** All feeds have been compared. */
  readonly isComplete: boolean;
  /** Those feeds that were asked for and have been compared. */
  readonly compared: readonly FeedName[];
  /** Changes that are not indexed yet. */
  readonly left: readonly NoteChange[];
  /** The code of the error for which the notes of a feed could not be listed: it is tried again at the next call after `isDone`. */
  readonly unreadable: string | undefined;
}

interface Comparison {
  readonly feed: FeedName;
  readonly steps: Generator<void>;
}

interface IndexWorkOptions extends Omit<NoteIndexOptions, 'source'> {
  readonly openSource: () => NoteSource;
  readonly file: string;
  readonly owner: Owner | undefined;
  readonly isBroken?: boolean;
  readonly isOpened?: boolean;
}

/** Keeps an index up to its source, in steps that end soon. After an error it must not be used any more. */
export class IndexWork {
  readonly #options: IndexWorkOptions;
  #opened: { readonly file: IndexFile; readonly source: NoteSource; readonly index: NoteIndex } | undefined;
  readonly #comparisons: Comparison[] = [];
  readonly #asked = new Set<FeedName>();
  readonly #unreadable = new Map<FeedName, string>();
  readonly #rest = this.#allFeeds();
  #isComplete = false;
  #tidying: Generator<void> | undefined;

  constructor(options: IndexWorkOptions) {
    this.#options = options;
  }

  /**
   * Indexes notes that have changed; they are found when it returns. Slow texts may leave some of them for another call, but not all.
   * @throws with `INDEX_BROKEN` if the index must be made again
   */
  update(changes: readonly NoteChange[]): Progress {
    const left: NoteChange[] = [];
    this.#inTransaction((index) => {
      const until = performance.now() + UPDATE_MS;
      for (const { feed, files } of changes) {
        let done = 0;
        const isReadable = this.#ifReadable(feed, () => {
          for (; done < files.length && performance.now() < until; done += 1)
            index.refresh(feed, files[done]!);
        });
        if (isReadable && done < files.length) left.push({ feed, files: files.slice(done) });
        // A new feed may be missing from the pass over all feeds. A running comparison goes on: restarted at each change, it would never end.
        const isRunning = this.#comparisons.some((one) => one.feed === feed);
        if (isReadable && !isRunning && !index.isCompared(feed)) this.#begin(index, feed, 'last');
      }
    });
    return { ...this.#progress([]), left };
  }

  /**
   * Goes on to compare all feeds for some time.
   * @param asked those to compare first, anew if need be
   * @throws with `INDEX_BROKEN` if the index must be made again
   */
  compare(asked: readonly FeedName[]): Progress {
    const until = performance.now() + STEP_MS;
    const compared: FeedName[] = [];
    this.#inTransaction((index) => {
      for (const feed of asked) {
        this.#asked.add(feed);
        this.#begin(index, feed);
      }
      do {
        const comparison = this.#comparisons.at(-1) ?? this.#next(index);
        if (!comparison) break;
        const { feed, steps } = comparison;
        let isOver = true;
        this.#ifReadable(feed, () => {
          isOver = steps.next().done === true;
        });
        if (!isOver) continue;
        this.#drop(feed);
        if (this.#asked.delete(feed)) compared.push(feed);
        if (this.#isComplete) index.forgetIfEmpty(feed);
      } while (performance.now() < until);
      this.#takeTurns();
    });
    return this.#progress(compared);
  }

  /**
   * Makes the file small while nothing is to be indexed, in a step that ends soon. Returns whether there is nothing more to do.
   * @throws with `INDEX_BROKEN` if the index must be made again
   */
  tidy(): boolean {
    const { file } = this.#index();
    if (!file.isThere) throw indexBroken('is gone');
    this.#tidying ??= file.tidy();
    const until = performance.now() + STEP_MS;
    do if (this.#tidying.next().done) return true;
    while (performance.now() < until);
    return false;
  }

  close(): void {
    if (!this.#opened) return;
    const { file, source } = this.#opened;
    for (const { steps } of this.#comparisons) steps.return(undefined);
    source.close();
    try {
      if (file.isThere) toEnd(file.seal());
    } finally {
      file.db.close();
    }
  }

  #progress(compared: readonly FeedName[]): Progress {
    const isDone = this.#isComplete && this.#comparisons.length === 0;
    const [unreadable] = this.#unreadable.values();
    if (isDone && unreadable !== undefined) {
      const { index } = this.#index();
      for (const feed of this.#unreadable.keys()) this.#begin(index, feed);
      this.#unreadable.clear();
    }
    return { isDone, isComplete: this.#isComplete, compared, left: [], unreadable };
  }

  #index() {
    if (this.#opened) return this.#opened;
    const { file: path, owner, isBroken, isOpened } = this.#options;
    if (isBroken) removeIndex(path);
    const source = this.#options.openSource();
    const file = isOpened ? IndexFile.forWritingAgain(path) : IndexFile.forWriting(path, owner);
    this.#opened = { file, source, index: new NoteIndex(file.db, { ...this.#options, source }) };
    return this.#opened;
  }

  #inTransaction(work: (index: NoteIndex) => void): void {
    const { file, index } = this.#index();
    // What is written into a file that was removed is lost without an error.
    if (!file.isThere) throw indexBroken('is gone');
    this.#tidying = undefined;
    index.begin();
    work(index);
    index.commit();
  }

  #begin(index: NoteIndex, feed: FeedName, place: 'next' | 'last' = 'next'): Comparison {
    this.#drop(feed);
    const comparison = { feed, steps: index.compare(feed) };
    if (place === 'next') this.#comparisons.push(comparison);
    else this.#comparisons.unshift(comparison);
    return comparison;
  }

  /** Goes on with the comparison below the running one if a search waits for it. Only two take turns, because each begun one has a folder open. */
  #takeTurns(): void {
    const [before, running] = this.#comparisons.slice(-2);
    if (running && this.#asked.has(before!.feed)) this.#comparisons.splice(-2, 2, running, before!);
  }

  #drop(feed: FeedName): void {
    const at = this.#comparisons.findIndex((one) => one.feed === feed);
    // An unfinished one has its folder open.
    if (at >= 0) this.#comparisons.splice(at, 1)[0]!.steps.return(undefined);
  }

  /** The comparison of the next feed; those that the index alone has are the last. */
  #next(index: NoteIndex): Comparison | undefined {
    const { value: feed } = this.#rest.next();
    return feed ? this.#begin(index, feed) : undefined;
  }

  *#allFeeds(): Generator<FeedName, undefined> {
    const { index, source } = this.#index();
    for (const feed of source.feeds()) if (!index.isCompared(feed)) yield feed;
    for (let feeds = index.uncompared(''); feeds.length > 0; feeds = index.uncompared(feeds.at(-1)!))
      for (const feed of feeds) if (!index.isCompared(feed)) yield feed;
    index.forgetEmpty();
    this.#isComplete = true;
    return undefined;
  }

  /** Runs work on one feed. After an error of the system or of the database returns false and leaves the feed for later, so that others do not wait. */
  #ifReadable(feed: FeedName, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      // Only the source throws these: the index throws errors of its engine.
      const isOfSource = error instanceof Refusal || (error instanceof Error && 'syscall' in error);
      const code = errorCode(error instanceof Refusal ? error.cause : error);
      if (!isOfSource || code === undefined) throw error;
      this.#unreadable.set(feed, code);
      return false;
    }
  }
}
