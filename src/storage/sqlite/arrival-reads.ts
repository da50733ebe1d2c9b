import type { Database } from 'better-sqlite3';
import type { NoteId } from '../../feeds/names.ts';
import {
  type Arrival,
  type Arrivals,
  BEFORE_ALL,
  firstDateAfter,
  guessedPlace,
  lastArrivals,
  maxExamined,
} from '../arrivals.ts';
import { preparer } from './connection.ts';
import { IS_LIVE, OF_FEED } from './note-rows.ts';

/** Reads the order in which notes came: with one writer it is that of their rows. */
export class ArrivalReads {
  readonly #sql: ReturnType<typeof prepareStatements>;

  constructor(db: Database) {
    this.#sql = prepareStatements(db);
  }

  /** See `Storage.arrivals`. */
  find(key: string, since: Arrival | NoteId | undefined, limit: number): Arrivals | undefined {
    const place = typeof since === 'string' ? this.#placeOf(key, since) : (since ?? BEFORE_ALL);
    if (!place) return undefined;
    const now = Date.now();
    const looked = maxExamined(since);
    const found = this.#sql.after.all(key, firstDateAfter(place), place.at, now, looked);
    const arrivals = found.map((row) => ({ ...row, date: Math.min(row.date, now) }));
    return lastArrivals(arrivals, place, limit);
  }

  #placeOf(key: string, id: NoteId): Arrival | undefined {
    return this.#sql.place.get(key, id) ?? guessedPlace(id);
  }
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  return {
    // `+row`: by the index of dates, because the rows after a place are those of all feeds.
    after: prepare<[string, number, number, number, number], Arrival>`
      SELECT notes.row AS at, notes.id, notes.created_at AS date ${OF_FEED}
      AND notes.created_at > ? AND +notes.row > ? AND ${IS_LIVE}
      ORDER BY notes.created_at DESC, notes.id DESC, notes.type DESC LIMIT ?`,
    place: prepare<[string, string], Arrival>`
      SELECT notes.row AS at, notes.id, min(notes.created_at, notes.modified_at) AS date ${OF_FEED} AND notes.id = ? ORDER BY notes.type LIMIT 1`,
  };
}
