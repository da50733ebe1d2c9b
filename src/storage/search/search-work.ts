import type { FeedName } from '../../feeds/names.ts';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { indexBroken } from '../failures.ts';
import type { NoteSearch } from '../storage.ts';
import { asBroken, IndexFile } from './index-file.ts';
import { type IndexPage, IndexSearch } from './index-search.ts';

/** A search that has waited longer than this is refused, ms, so that the next ones wait less. */
const MAX_WAIT_MS = 1000;

interface IndexState {
  /** See `NoteIndexOptions`. */
  readonly run: number;
  /** All feeds have been compared. */
  readonly isComplete: boolean;
  /** When the search was asked for, ms since the epoch. */
  readonly askedAt: number;
}

/** Searches the index at a path, and opens it again when there is another file. */
export class SearchWork {
  readonly #path: string;
  #opened: { readonly file: IndexFile; readonly search: IndexSearch } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * A page of the feed; undefined if the index is not up to the feed.
   * @throws with `INDEX_BROKEN` if the index must be made again; Refusal `busy` if it takes too long
   */
  find(feed: FeedName, search: NoteSearch, { run, isComplete, askedAt }: IndexState): IndexPage | undefined {
    if (Date.now() - askedAt > MAX_WAIT_MS)
      throw new Refusal('busy', 'Too many searches at once, please try again in a moment.');
    return this.#withIndex((index) => {
      const comparedIn = index.comparedIn(feed);
      if (comparedIn === run) return index.search(feed, search);
      return comparedIn === undefined && isComplete ? { positions: [], next: undefined } : undefined;
    });
  }

  /**
   * Looks at the whole file, for seconds if it is large.
   * @throws with `INDEX_BROKEN` if something is wrong with it
   */
  check(): void {
    try {
      this.#file().file.check();
    } catch (error) {
      throw asBroken(error);
    }
  }

  close(): void {
    this.#opened?.file.db.close();
    this.#opened = undefined;
  }

  #withIndex<T>(work: (search: IndexSearch) => T): T {
    try {
      return work(this.#file().search);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      this.close();
      // Only what the index holds makes an error without a code.
      throw errorCode(error) === undefined ? indexBroken('holds what it must not') : asBroken(error);
    }
  }

  #file() {
    if (this.#opened?.file.isThere === false) this.close();
    if (this.#opened) return this.#opened;
    const file = IndexFile.forReading(this.#path);
    this.#opened = { file, search: new IndexSearch(file.db) };
    return this.#opened;
  }
}
