import { dateOfId } from '../../feeds/ids.ts';
import type { NoteFile } from '../../feeds/names.ts';
import { type Ordered, oldestFirst, placeOf } from '../../feeds/order.ts';
import type { Position } from '../storage.ts';
import type { Stamp } from './stamp.ts';

/** A note in the index. A note whose date changes gets a new entry. */
export interface Entry extends Ordered {
  readonly file: NoteFile;
  /** State of the note's file as last seen. */
  stamp: Stamp;
  /** State of its metadata file as last seen; undefined when it has none. */
  meta: Stamp | undefined;
  /** SHA-256 of the bytes of this version in base64url, where the post told it. */
  sha256?: string | undefined;
  /** Grows with every change, so that a read that began before one can be told. */
  version: number;
}

/** The id says no date: it is in the metadata file, or is the file's modification time. */
export function isDatedByFile(id: string): boolean {
  return dateOfId(id) === undefined;
}

/** Entries in the order of a feed, oldest first inside, so that a new note goes to the end at no cost. */
export class SortedEntries {
  readonly #list: Entry[];

  constructor(entries: Iterable<Entry> = []) {
    this.#list = [...entries].sort(oldestFirst);
  }

  get size(): number {
    return this.#list.length;
  }

  insert(entry: Entry): void {
    this.#list.splice(this.#countBefore(entry), 0, entry);
  }

  remove(entry: Entry): void {
    const at = this.#countBefore(entry);
    if (this.#list[at] === entry) this.#list.splice(at, 1);
  }

  /** At most `limit` entries, newest first, all older than `before`. */
  older(before: Position | undefined, limit: number): Entry[] {
    const end = before ? this.#countBefore(placeOf(before)) : this.#list.length;
    return this.#list.slice(Math.max(0, end - limit), end).reverse();
  }

  /** The first that is newer than `after`. */
  newer(after: Position): Entry | undefined {
    const place = placeOf(after);
    const at = this.#countBefore(place);
    const found = this.#list[at];
    return found && oldestFirst(found, place) === 0 ? this.#list[at + 1] : found;
  }

  /** How many are older than `place`. */
  #countBefore(place: Ordered): number {
    let low = 0;
    let high = this.#list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (oldestFirst(this.#list[middle]!, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
