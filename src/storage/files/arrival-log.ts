import type { NoteFile } from '../../feeds/names.ts';
import { type Arrival, BEFORE_ALL, inOrderOfArrival, MAX_LAG_MS } from '../arrivals.ts';
import type { Entry } from './note-list.ts';

/** The most notes of a log. One with more is made again. */
const MAX_LOGGED = 20_000;
/** Notes that are looked at together. */
export const AT_ONCE = 200;

/**
 * The order in which notes of a feed came, of those that are dated after a moment. A note came when its file got its name (`ctime`),
 * which a kill leaves as it is, so the order is the same after a restart.
 */
export class ArrivalLog {
  /** It has all notes dated later than this. */
  readonly from: number;
  readonly #placed = new Map<NoteFile, Arrival>();
  readonly #unplaced: Map<NoteFile, Entry>;
  /** Those without a place that came since there is a log. */
  readonly #new: Set<NoteFile>;
  /** All that came until this time has its place. */
  #settled: number;
  #isFull = false;

  /** @param former the log that this one is made instead of */
  constructor(from: number, entries: readonly Entry[], former?: ArrivalLog) {
    this.from = from;
    this.#unplaced = new Map(entries.map((entry) => [entry.file, entry]));
    this.#new = new Set(former ? former.#new : []);
    this.#settled = former ? former.#settled : BEFORE_ALL.at;
  }

  get size(): number {
    return this.#placed.size + this.#unplaced.size;
  }

  /** Whether notes came that it does not have, because it had too many. */
  get isFull(): boolean {
    return this.#isFull;
  }

  add(entries: readonly Entry[]): void {
    this.#isFull ||= this.size > MAX_LOGGED;
    if (this.#isFull) return;
    for (const entry of entries) {
      this.#unplaced.set(entry.file, entry);
      this.#new.add(entry.file);
    }
  }

  /** An entry comes in place of one that may have no place yet. */
  replace(entry: Entry): void {
    if (this.#unplaced.has(entry.file)) this.#unplaced.set(entry.file, entry);
  }

  /** The note of a file is gone. */
  remove(file: NoteFile): void {
    this.#unplaced.delete(file);
    this.#new.delete(file);
    this.#placed.delete(file);
  }

  /**
   * The arrivals after a place, up to a moment. A note that would have its place among those told before, because the clock was set back, comes
   * after them.
   */
  async after(
    place: Arrival,
    until: number,
    arrivalOf: (entry: Entry) => Promise<Arrival | undefined>,
  ): Promise<Arrival[]> {
    const entries = [...this.#unplaced.values()];
    while (entries.length > 0) {
      const some = entries.splice(0, AT_ONCE);
      const arrivals = await Promise.all(some.map(arrivalOf));
      for (const [n, entry] of some.entries()) {
        // While its file was read, the entry may have been removed, or replaced: then that one is to be read.
        const unplaced = this.#unplaced.get(entry.file);
        if (unplaced !== entry) {
          if (unplaced) entries.push(unplaced);
          continue;
        }
        this.#unplaced.delete(entry.file);
        const isNew = this.#new.delete(entry.file);
        const arrival = arrivals[n];
        if (!arrival) continue;
        const isLate = isNew && arrival.at <= this.#settled && until - arrival.at <= MAX_LAG_MS;
        if (isLate) entry.arrivedAt = this.#settled += 1;
        this.#placed.set(entry.file, isLate ? { ...arrival, at: this.#settled } : arrival);
      }
    }
    this.#settled = Math.max(this.#settled, until);
    const isAsked = (one: Arrival) => one.at <= this.#settled && inOrderOfArrival(one, place) > 0;
    return [...this.#placed.values()].filter(isAsked);
  }
}

/** When a note came, by the time of its file. If that is much later than its date, the file was only touched or copied: the date counts. */
export function arrivalOf({ createdAt }: Pick<Entry, 'createdAt'>, cameAt: number): number {
  return cameAt - createdAt > MAX_LAG_MS ? createdAt : cameAt;
}
