import { type Arrival, inOrderOfArrival, MAX_LAG_MS } from '../arrivals.ts';
import type { Entry } from './note-list.ts';

/** The most notes of a log. One with more is made again. */
const MOST_LOGGED = 20_000;
/** Notes that are looked at together. */
export const AT_ONCE = 200;

/**
 * The order in which notes of a feed came, of those that are dated after a moment. A note came when its file got its name (`ctime`),
 * which a kill leaves as it is, so the order is the same after a restart.
 */
export class ArrivalLog {
  /** It has all notes dated later than this. */
  readonly from: number;
  readonly #placed: Arrival[] = [];
  readonly #unplaced: Set<Entry>;

  constructor(from: number, entries: readonly Entry[]) {
    this.from = from;
    this.#unplaced = new Set(entries);
  }

  get size(): number {
    return this.#placed.length + this.#unplaced.size;
  }

  get isFull(): boolean {
    return this.size > MOST_LOGGED;
  }

  add(entries: readonly Entry[]): void {
    if (!this.isFull) for (const entry of entries) this.#unplaced.add(entry);
  }

  /** An entry comes in place of one that may have no place yet. */
  replace(before: Entry, entry: Entry): void {
    if (this.#unplaced.delete(before)) this.#unplaced.add(entry);
  }

  /** The arrivals after a place, up to a moment. */
  async after(
    place: Arrival,
    until: number,
    arrivalOf: (entry: Entry) => Promise<Arrival | undefined>,
  ): Promise<Arrival[]> {
    const entries = [...this.#unplaced];
    for (let at = 0; at < entries.length; at += AT_ONCE) {
      const some = entries.slice(at, at + AT_ONCE);
      const arrivals = await Promise.all(some.map(arrivalOf));
      for (const [n, arrival] of arrivals.entries())
        if (this.#unplaced.delete(some[n]!) && arrival) this.#placed.push(arrival);
    }
    return this.#placed.filter((one) => one.at <= until && inOrderOfArrival(one, place) > 0);
  }
}

/** When a note came, by the time of its file. If that is much later than its date, the file was only touched or copied: the date counts. */
export function arrivalOf({ createdAt }: Pick<Entry, 'createdAt'>, cameAt: number): number {
  return cameAt - createdAt > MAX_LAG_MS ? createdAt : cameAt;
}
