import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { FeedName, NoteFile } from '../../feeds/names.ts';
import type { Owner } from '../../privileges.ts';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { INDEX_BROKEN, withoutPath } from '../failures.ts';
import { NoteInWork, watchForHang } from '../note-in-work.ts';
import type { NoteSearch } from '../storage.ts';
import { ThreadCalls } from '../thread-calls.ts';
import type { IndexPage } from './index-search.ts';
import type { IndexThreadData, IndexWork, NoteChange, Progress } from './index-work.ts';
import type { SourceData } from './note-source.ts';
import type { SearchWork } from './search-work.ts';

/** Changes within this time go to the thread together, ms. */
const GATHER_MS = 50;
/** Delay of the thread's start unless something needs it sooner, ms, because the service has enough to do at its own start. */
const START_MS = 1000;
/** A feed with more files waiting is compared instead. */
const MAX_WAITING_FILES = 10_000;
/** Files that go to the thread at once, so that what comes next waits only for these. */
const FILES_AT_ONCE = 64;
/** CPU time that one note may take, ms; far more than the limit within which its text has to be read. */
const HANG_MS = 10_000;
/** Pause between two attempts after failures, ms. */
const RETRY_MS = 10_000;
/** The memory limit of each thread. Notes are of bounded size, so work that takes more would never end. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 256 };
const MAX_SEARCHES = 256;
/** Threads without work end after so many ms, because they take memory. */
const IDLE_MS = 60_000;
/** How long a search waits for its feed to be compared. */
const COMPARE_WAIT_MS = 500;
/** The most notes that are remembered because the thread hung or ended at them. Of more, the first are rendered again. */
const MAX_AS_WRITTEN = 1000;

export interface NoteIndexerOptions {
  /** The file of the index, which is made if there is none. */
  readonly file: string;
  readonly source: SourceData;
  /** Who owns the files made; the process's own user when absent. */
  readonly owner: Owner | undefined;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** How long a thread without work is kept, in ms. */
  readonly idleMs?: number;
}

/** The positions of notes that the index found. */
export interface FoundPositions extends IndexPage {
  /** See `FoundPage`. */
  readonly isCurrent: boolean;
}

/** A comparison of a feed that something waits for. */
interface AwaitedComparison {
  /** `again`: something changed since the thread was told. */
  state: 'waiting' | 'sent' | 'again';
  readonly compared: PromiseWithResolvers<void>;
}

/**
 * Keeps the index of a storage up to its notes, and searches it. One thread writes the index, another one searches it. Whatever goes wrong with the index
 * or with the thread that writes it, another thread starts and compares all feeds, with a new index if need be. Until a feed is compared, searches of it
 * are refused as `busy`.
 */
export class NoteIndexer {
  readonly #log: NoteIndexerOptions['log'];
  readonly #data: IndexThreadData;
  readonly #inWork = new NoteInWork();
  readonly #indexing: ThreadCalls<Pick<IndexWork, 'update' | 'compare' | 'tidy'>>;
  readonly #searching: ThreadCalls<Pick<SearchWork, 'find'>>;
  readonly #closing = new AbortController();
  /** Files that wait for the thread. */
  readonly #changes = new Map<FeedName, Set<NoteFile>>();
  /** Feeds of the files that the thread has. */
  #sent: readonly FeedName[] = [];
  readonly #comparisons = new Map<FeedName, AwaitedComparison>();
  /** The last step was one of changes. */
  #hasUpdated = false;
  /** See `Progress`. */
  #isDone = false;
  #isComplete = false;
  /** The thread has begun, so changes must be told to it: it may have looked at these feeds. */
  #isBegun = false;
  /** The thread has opened the index, and nothing is known to be wrong with it. */
  #isReady = false;
  #needsCheck: boolean;
  /** Failures since everything was last indexed. */
  #failures = 0;
  /** The code of the error for which notes of a feed cannot be read. It is logged once; while there is one, no search is current. */
  #unreadable: string | undefined;
  #isRetrying = false;
  #searches = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  readonly #hangWatch: NodeJS.Timeout;
  readonly #indexingRest: NodeJS.Timeout;
  readonly #searchingRest: NodeJS.Timeout;
  #isWorking = false;
  #work = Promise.resolve();
  #checking = Promise.resolve();

  constructor({ file, source, owner, log, idleMs = IDLE_MS }: NoteIndexerOptions) {
    this.#log = log;
    this.#data = {
      file,
      owner,
      source,
      inWork: this.#inWork.shared,
      run: newRun(),
      isBroken: false,
      isOpened: false,
      asWritten: [],
    };
    this.#needsCheck = existsSync(file);
    this.#indexing = new ThreadCalls('index-notes', this.#data, { limits: THREAD_LIMITS });
    this.#searching = new ThreadCalls('search-notes', { file }, { limits: THREAD_LIMITS });
    const endThread = () => void this.#indexing.end(new Error('the thread hangs'));
    this.#hangWatch = watchForHang(this.#inWork, HANG_MS, () => this.#indexing.thread, endThread);
    this.#indexingRest = setTimeout(() => void this.#restIndexing(), idleMs).unref();
    this.#searchingRest = setTimeout(() => void this.#restSearching(), idleMs).unref();
    this.#wake(START_MS);
  }

  /**
   * Notes of a feed have changed: these files, or, without them, any, also because the feed is new or gone. Returns at once; they are indexed
   * within a second.
   */
  changed(feed: FeedName, files?: readonly NoteFile[]): void {
    this.#wake(GATHER_MS);
    // Everything will be compared.
    if (!this.#isBegun) return;
    const waiting = this.#changes.get(feed) ?? new Set();
    for (const file of files ?? []) waiting.add(file);
    if (files && waiting.size <= MAX_WAITING_FILES) this.#changes.set(feed, waiting);
    else {
      this.#changes.delete(feed);
      this.#compare(feed, 'again');
    }
  }

  /**
   * The notes in the index that match a query, newest first.
   * @throws Refusal `busy` while the feed is not indexed yet, and if the search takes more than 50 ms
   */
  async find(feed: FeedName, search: NoteSearch): Promise<FoundPositions> {
    if (this.#searches >= MAX_SEARCHES) throw busy('Too many searches at once');
    this.#searches += 1;
    try {
      const isChanged = this.#changes.has(feed) || this.#sent.includes(feed) || this.#comparisons.has(feed);
      // Notes that could not be read are indexed by a later attempt, and nobody is told of that.
      const isWaiting = isChanged || this.#unreadable !== undefined;
      const page = (await this.#ask(feed, search)) ?? (await this.#askLater(feed, search));
      return { ...page, isCurrent: !isWaiting };
    } finally {
      this.#searches -= 1;
      this.#searchingRest.refresh();
    }
  }

  /** Ends the threads; what is not indexed yet is found at the next start. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#indexingRest);
    clearTimeout(this.#searchingRest);
    await Promise.all([this.#work, this.#checking]);
    // Until then a thread that hangs has to be ended.
    clearTimeout(this.#hangWatch);
    await Promise.all([this.#indexing.close(), this.#searching.close()]);
  }

  /** Undefined if the index is not up to the feed. */
  async #ask(feed: FeedName, search: NoteSearch): Promise<IndexPage | undefined> {
    const { run } = this.#data;
    if (!this.#isReady) return undefined;
    try {
      // While something could not be read, a feed that the index lacks may have notes all the same.
      const isComplete = this.#isComplete && this.#unreadable === undefined;
      const state = { run, isComplete, askedAt: Date.now() };
      return await this.#searching.call('find', feed, search, state);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'busy') throw error;
      await this.#lost(error, run);
      throw busy('The search index is being made', error);
    }
  }

  /** As `#ask`, once the feed has been compared. */
  async #askLater(feed: FeedName, search: NoteSearch): Promise<IndexPage> {
    const { compared } = this.#compare(feed, 'sent');
    this.#wake(0);
    await Promise.race([compared.promise, this.#pause(COMPARE_WAIT_MS)]);
    const page = await this.#ask(feed, search);
    if (!page) throw busy('The search index is being made');
    return page;
  }

  /** Has a feed compared. If the thread does so already, the comparison is in the given state then. */
  #compare(feed: FeedName, ifSent: 'sent' | 'again'): AwaitedComparison {
    const there = this.#comparisons.get(feed);
    if (there?.state === 'sent') there.state = ifSent;
    if (there) return there;
    const comparison: AwaitedComparison = { state: 'waiting', compared: Promise.withResolvers() };
    this.#comparisons.set(feed, comparison);
    return comparison;
  }

  /** Begins to work within that time, if it does not yet. */
  #wake(ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.#isWorking || this.#closing.signal.aborted || (this.#timer && this.#dueAt <= dueAt)) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isWorking = true;
      this.#work = this.#doAll();
    }, ms);
  }

  get #hasWork(): boolean {
    return !this.#isDone || this.#changes.size > 0 || this.#comparisons.size > 0;
  }

  async #doAll(): Promise<void> {
    while (this.#hasWork && !this.#closing.signal.aborted) {
      const { run } = this.#data;
      this.#isBegun = true;
      try {
        this.#apply(await this.#step());
      } catch (error) {
        await this.#lost(error, run);
        await this.#pause(this.#failures > 1 ? RETRY_MS : 0);
      }
    }
    this.#isWorking = false;
    this.#indexingRest.refresh();
  }

  get #isIdle(): boolean {
    return !this.#isWorking && !this.#hasWork && !this.#closing.signal.aborted;
  }

  /** Tidies the index and then ends the thread that writes it, but stops as soon as there is work. */
  async #restIndexing(): Promise<void> {
    const { run } = this.#data;
    try {
      let isTidy = false;
      while (this.#isIdle && !isTidy) isTidy = await this.#indexing.call('tidy');
    } catch (error) {
      await this.#lost(error, run);
    }
    if (this.#isIdle) await this.#indexing.end(new Error('the thread has no work'));
  }

  async #restSearching(): Promise<void> {
    if (this.#searches === 0) await this.#searching.end(new Error('the thread has no work'));
  }

  /** New changes are first, because people wait for them; feeds that searches wait for take turns with them. */
  async #step(): Promise<Progress> {
    try {
      const changes = this.#hasUpdated && this.#comparisons.size > 0 ? [] : this.#takeChanges();
      this.#hasUpdated = changes.length > 0;
      this.#sent = changes.map(({ feed }) => feed);
      if (this.#hasUpdated) {
        const progress = await this.#indexing.call('update', changes);
        for (const { feed, files } of progress.left) this.changed(feed, files);
        return progress;
      }
      return await this.#indexing.call('compare', this.#takeComparisons());
    } finally {
      this.#sent = [];
    }
  }

  #takeChanges(): NoteChange[] {
    const taken: NoteChange[] = [];
    let room = FILES_AT_ONCE;
    for (const [feed, waiting] of this.#changes) {
      if (room === 0) break;
      const files = [...waiting].slice(0, room);
      for (const file of files) waiting.delete(file);
      // The other feeds are next.
      this.#changes.delete(feed);
      if (waiting.size > 0) this.#changes.set(feed, waiting);
      taken.push({ feed, files });
      room -= files.length;
    }
    return taken;
  }

  #takeComparisons(): FeedName[] {
    const waiting = [...this.#comparisons].filter(([, { state }]) => state === 'waiting');
    for (const [, comparison] of waiting) comparison.state = 'sent';
    return waiting.map(([feed]) => feed);
  }

  #apply({ isDone, isComplete, compared, unreadable }: Progress): void {
    this.#isReady = true;
    this.#data.isBroken = false;
    this.#data.isOpened = true;
    this.#isDone = isDone;
    this.#isComplete = isComplete;
    for (const feed of compared) {
      const comparison = this.#comparisons.get(feed);
      this.#comparisons.delete(feed);
      if (comparison?.state === 'again') this.#compare(feed, 'again');
      comparison?.compared.resolve();
    }
    if (this.#needsCheck) this.#checking = this.#check();
    if (isDone) this.#failures = 0;
    if (unreadable !== undefined && this.#unreadable === undefined) {
      this.#log.error('notes of a feed cannot be read for the search index', { code: unreadable });
      this.#unreadable = unreadable;
    }
    if (!isDone || this.#isRetrying) return;
    this.#unreadable = unreadable;
    if (unreadable !== undefined) void this.#retry();
  }

  async #retry(): Promise<void> {
    this.#isRetrying = true;
    await this.#pause(RETRY_MS);
    this.#isRetrying = false;
    this.#isDone = false;
    this.#wake(0);
  }

  /** Looks whether an index that was there at the start is whole, on a thread of its own, because it takes seconds if the index is large. */
  async #check(): Promise<void> {
    this.#needsCheck = false;
    const { file, run } = this.#data;
    const thread = new ThreadCalls<Pick<SearchWork, 'check'>>('search-notes', { file });
    try {
      await thread.call('check');
    } catch (error) {
      if (errorCode(error) === INDEX_BROKEN) await this.#lost(error, run);
    }
    await thread.close();
  }

  /** The thread of a run, or its index, is of no use any more: another one compares all feeds. */
  async #lost(error: unknown, run: number): Promise<void> {
    // Another call may have found it out before.
    if (run !== this.#data.run || this.#closing.signal.aborted) return;
    const note = this.#inWork.take();
    const asWritten = note === undefined ? this.#data.asWritten : [...this.#data.asWritten, note];
    const isBroken = errorCode(error) === INDEX_BROKEN || (this.#failures > 0 && mayBeDamaged(error));
    Object.assign(this.#data, {
      run: newRun(),
      isBroken,
      isOpened: false,
      asWritten: asWritten.slice(-MAX_AS_WRITTEN),
    });
    this.#isReady = this.#isDone = this.#isComplete = this.#isBegun = false;
    this.#changes.clear();
    for (const { compared } of this.#comparisons.values()) compared.resolve();
    this.#comparisons.clear();
    this.#failures += 1;
    if (this.#failures === 1) {
      if (isBroken) this.#log.warn('the search index is made again', { err: withoutPath(error) });
      else this.#log.error('the search index cannot be kept up with the notes', { err: withoutPath(error) });
    }
    await this.#indexing.end(new Error('the thread has lost its index'));
    this.#wake(0);
  }

  #pause(ms: number): Promise<void> {
    return wait(ms, undefined, { signal: this.#closing.signal }).catch(() => {});
  }
}

/** Whether an error that comes again may be of damaged content of the index: it is no known failure of the engine or the system. */
function mayBeDamaged(error: unknown): boolean {
  return !(error instanceof Refusal) && ['SQLITE_ERROR', undefined].includes(errorCode(error));
}

function newRun(): number {
  return randomInt(1, 2 ** 31);
}

function busy(why: string, cause?: unknown): Refusal {
  return new Refusal('busy', `${why}, please try again in a moment.`, { cause });
}
