import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type FeedName, isFeedName } from '../src/feeds/names.ts';
import { toFailure } from '../src/storage/failures.ts';
import { collectGarbage, heapSize } from '../src/storage/files/collect-garbage.ts';
import { asRefusal, isGone } from '../src/storage/files/failures.ts';
import { findMarks } from '../src/storage/files/find-marks.ts';
import type { ListOrder, MarksOrder } from '../src/storage/files/mark-keeper.ts';
import { feedsAmong, isTempName, LOCK_FILE } from '../src/storage/files/names.ts';
import type { FileSeen, FolderSeen } from '../src/storage/files/reconciler.ts';
import { WATCHED_RECORD_FILES } from '../src/storage/files/record-lines.ts';
import { isFresh } from '../src/storage/files/stamp.ts';
import type { LookOrder, WatchNotice, WatchTask } from '../src/storage/files/watch-thread.ts';
import { errorCode } from '../src/system-errors.ts';
import { Round } from './round.ts';
import { folderStats, statsOf, valueOrUndefined, WatchedFolder } from './watched-folder.ts';

/** Events of one write come together and cause one look. */
const COALESCE_MS = 20;
/** Period of the rounds over all files, if the budget allows, ms. */
const PERIOD_MS = 500;
const TICK_MS = 25;
/** Looks per tick: 20,000 a second, some 5 % of a core. */
const TICK_BUDGET = 500;
const BATCH = 1000;
/** After each piece of work, a search for marks pauses for this many times the time that the piece took. */
const MARKS_SHARE = 4;

/**
 * Watches a data folder by events and, because events get lost, by rounds over all files. An order makes it look at feeds,
 * known or not.
 */
export class DataFolderWatch {
  readonly #dir: string;
  readonly #say: (notice: WatchNotice) => void;
  #changedSince: number | undefined;
  #events: boolean;
  readonly #folders = new Map<FeedName, WatchedFolder>();
  /** Feeds whose folders could not be read when they were to be watched; each round tries again. */
  readonly #unlisted = new Set<FeedName>();
  readonly #watchers = new Map<FeedName | '', FSWatcher>();
  /** Paths in the data folder with an event; those of its own entries begin with `/`. */
  readonly #dirty = new Set<string>();
  #hasSeenAll = false;
  readonly #heapBefore = heapSize();
  /** The states of `WATCHED_RECORD_FILES`. */
  readonly #recordFiles = new Map<string, string>();
  #root = '';
  #rootMtimeMs = Number.NaN;
  #seen: (FileSeen | FolderSeen)[] = [];
  readonly #overFolders = new Round(() => this.#lookAtFolders(), PERIOD_MS);
  readonly #overFiles = new Round(() => this.#lookAtFiles(), PERIOD_MS);

  constructor(task: WatchTask, say: (notice: WatchNotice) => void) {
    this.#dir = task.dir;
    this.#say = say;
    this.#events = task.events;
    this.#changedSince = task.changedSince;
  }

  start(): void {
    this.#watch('');
    this.#root = this.#rootIdentity();
    if (this.#changedSince === undefined) {
      for (const file of WATCHED_RECORD_FILES) this.#recordFiles.set(file, this.#stateOf(file));
      for (const name of this.#listRoot()) this.#addFolder(name);
    }
    this.#tick();
  }

  take(order: LookOrder | ListOrder | MarksOrder): void {
    if ('marksOf' in order) {
      void this.#findMarks(order);
      return;
    }
    if ('listOf' in order) {
      this.#folders.get(order.listOf)?.listAgain();
      return;
    }
    const { feeds, anew } = order;
    for (const feed of feeds) {
      if (anew) this.#removeFolder(feed);
      this.#mark('', feed);
    }
  }

  async #findMarks({ marksOf, look }: MarksOrder): Promise<void> {
    let begunAt = performance.now();
    const pause = async () => {
      await wait((performance.now() - begunAt) * MARKS_SHARE);
      begunAt = performance.now();
    };
    const answer = { kind: 'marks', look } as const;
    await findMarks(join(this.#dir, marksOf), pause, (marks) => this.#say({ ...answer, marks })).then(
      (end) => this.#say({ ...answer, marks: [], end }),
      (error) => this.#say({ ...answer, marks: [], failure: toFailure(asRefusal(error)) }),
    );
  }

  #tick(): void {
    const used = this.#overFolders.advance(TICK_BUDGET / 2, performance.now());
    this.#overFiles.advance(TICK_BUDGET - used, performance.now());
    this.#send();
    const dueInMs = Math.min(this.#overFolders.dueAt, this.#overFiles.dueAt) - performance.now();
    setTimeout(() => this.#tick(), Math.max(TICK_MS, dueInMs));
  }

  *#lookAtFolders(): Generator<void> {
    this.#lookAtRoot();
    this.#lookAtRecords();
    for (const name of [...this.#unlisted])
      if (this.#addFolder(name)) this.#push({ feed: name, folder: 'there' });
    yield;
    for (const name of [...this.#folders.keys()]) {
      this.#lookAtFolder(name);
      yield;
    }
  }

  *#lookAtFiles(): Generator<void> {
    for (const folder of this.#folders.values()) {
      for (const seen of folder.lookAtFiles()) {
        this.#push(seen);
        yield;
      }
    }
    if (!this.#hasSeenAll) void collectGarbage(this.#heapBefore);
    this.#hasSeenAll = true;
    // The time stays while a folder cannot be read, because the files of that folder are still to be compared with it.
    if (this.#folders.size > 0 && this.#unlisted.size === 0) this.#changedSince = undefined;
  }

  #lookAtRoot(): void {
    const root = this.#rootIdentity();
    if (root !== this.#root) {
      this.#root = root;
      this.#rootMtimeMs = Number.NaN;
      this.#watch('');
      this.#say({ kind: 'root' });
    }
    const stats = folderStats(this.#dir);
    if (!stats || stats.mtimeMs === this.#rootMtimeMs) return;
    for (const name of this.#listRoot()) if (!this.#folders.has(name)) this.#lookAtFolder(name);
  }

  #lookAtRecords(): void {
    for (const file of WATCHED_RECORD_FILES) {
      const state = this.#stateOf(file);
      if (state === this.#recordFiles.get(file)) continue;
      this.#recordFiles.set(file, state);
      this.#say({ kind: 'record file', file });
    }
  }

  /** The state of a file as text. It changes with every change of the file, and at each look while a next change could go unseen. */
  #stateOf(file: string): string {
    const stats = statsOf(join(this.#dir, file));
    return [stats?.ino, stats?.mtimeMs, stats?.size, stats && isFresh(stats) && performance.now()].join(':');
  }

  #lookAtFolder(name: FeedName): void {
    const folder = this.#folders.get(name);
    if (!folder) {
      this.#push({ feed: name, folder: this.#addFolder(name) ? 'there' : 'gone' });
      return;
    }
    const look = folder.look();
    if (look === 'same') return;
    if (look === 'changed') {
      for (const seen of valueOrUndefined(() => folder.compareListing()) ?? []) this.#push(seen);
    } else if (folderStats(this.#dir) && !isThere(folder.look())) {
      this.#removeFolder(name);
      const isAgain = this.#addFolder(name);
      this.#push({ feed: name, folder: isAgain ? 'replaced' : 'gone' });
    }
  }

  /**
   * False when there is no folder of that name, or it cannot be listed now. The watch begins before the listing, so nothing
   * is missed.
   */
  #addFolder(name: FeedName): boolean {
    this.#unlisted.delete(name);
    try {
      if (!lstatSync(join(this.#dir, name)).isDirectory()) return false;
      this.#watch(name);
      this.#folders.set(name, new WatchedFolder(this.#dir, name, this.#changedSince));
      return true;
    } catch (error) {
      this.#unwatch(name);
      if (!isGone(error)) this.#unlisted.add(name);
      return false;
    }
  }

  #removeFolder(name: FeedName): void {
    this.#folders.delete(name);
    this.#unwatch(name);
  }

  /** Watches the folder of a feed, or, with the name '', the data folder. */
  #watch(name: FeedName | ''): void {
    this.#unwatch(name);
    if (!this.#events) return;
    try {
      const watcher = watch(join(this.#dir, name), (_event, file) => {
        if (file !== null && !isTempName(file)) this.#mark(name, file);
      });
      watcher.on('error', () => this.#unwatch(name));
      this.#watchers.set(name, watcher);
    } catch (error) {
      if (isGone(error)) return;
      this.#events = false;
      this.#say({ kind: 'no events', code: errorCode(error) ?? '' });
    }
  }

  #unwatch(name: FeedName | ''): void {
    this.#watchers.get(name)?.close();
    this.#watchers.delete(name);
  }

  /** Something happened to a file of a feed, or, with the name '', to an entry of the data folder. */
  #mark(name: FeedName | '', file: string): void {
    if (this.#dirty.size === 0) setTimeout(() => this.#flush(), COALESCE_MS);
    this.#dirty.add(`${name}/${file}`);
  }

  #flush(): void {
    const dirty = [...this.#dirty].map((path) => path.split('/') as [FeedName | '', string]);
    this.#dirty.clear();
    if (dirty.some(([name, file]) => name === '' && WATCHED_RECORD_FILES.includes(file)))
      this.#lookAtRecords();
    for (const [name, file] of dirty)
      if (name === '' && isFeedName(file) && folderStats(this.#dir)) this.#lookAtFolder(file);
    for (const [name, file] of dirty) if (name !== '') this.#push(this.#folders.get(name)?.see(file));
    this.#send();
  }

  #push(seen: FileSeen | FolderSeen | undefined): void {
    if (seen) this.#seen.push(seen);
    if (this.#seen.length >= BATCH) this.#send();
  }

  #send(): void {
    if (this.#seen.length === 0) return;
    this.#say({ kind: 'seen', seen: this.#seen });
    this.#seen = [];
  }

  #listRoot(): FeedName[] {
    const stats = folderStats(this.#dir);
    const all = valueOrUndefined(() => readdirSync(this.#dir, { withFileTypes: true }));
    this.#rootMtimeMs = all && stats && !isFresh(stats) ? stats.mtimeMs : Number.NaN;
    return feedsAmong(all ?? []);
  }

  #rootIdentity(): string {
    const lock = statsOf(join(this.#dir, LOCK_FILE));
    const root = folderStats(this.#dir);
    return [root?.dev, root?.ino, lock?.ino].join(':');
  }
}

function isThere(look: ReturnType<WatchedFolder['look']>): boolean {
  return look === 'same' || look === 'changed';
}
