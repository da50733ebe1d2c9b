import type { AdmittedFeed, Feed } from '../feeds/feed.ts';
import type { NoteFile, ReadId } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import type { Position } from '../feeds/order.ts';
import type { SearchQuery } from '../search/query.ts';
import { PAGE_TEXT_BYTES, type Page, type PageQuery, type Storage } from '../storage/storage.ts';
import type { Matches } from './matches.ts';
import { type LoadedPage, positionOf } from './note-pages.ts';
import { badBefore, type RequestedPage } from './page-query.ts';
import type { FoundNote } from './views/document.ts';

/** How often one request asks the index for further notes because some that it has do not match any more. */
const MAX_SEARCHES = 8;
/** The fewest notes that the index is asked for: judging them costs less than asking again. */
const FEWEST_CANDIDATES = 20;
/** Comes before most ids. */
const FIRST_FILE = '-.md' as NoteFile;

export interface AskedNotesParts {
  readonly storage: Pick<Storage, 'page' | 'pageByReadId' | 'feedByReadId' | 'note' | 'search'>;
  readonly matches: Pick<Matches, 'find'>;
}

interface AskedPage extends Page {
  readonly notes: readonly FoundNote[];
}

/** The notes of a feed that one request asks for, newest first, page by page. */
export class AskedNotes {
  readonly request: RequestedPage;
  readonly #parts: AskedNotesParts;
  readonly #readId: ReadId;
  #searches = 0;
  #isCurrent = true;

  /** @param readId of the feed */
  constructor(parts: AskedNotesParts, readId: ReadId, request: RequestedPage) {
    this.#parts = parts;
    this.#readId = readId;
    this.request = request;
  }

  /** False if the same request may soon find other notes, although the feed does not change. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** All notes of the feed are asked for. */
  get isOfAll(): boolean {
    return this.request.asked === undefined;
  }

  /** Its page is of the newest notes. */
  get isFirst(): boolean {
    return this.request.before === undefined;
  }

  /** Clients can make up any number of these requests, and each may show notes. */
  get isMadeUp(): boolean {
    const { query, from, to } = this.request;
    return query !== undefined || from !== undefined || to !== undefined;
  }

  /**
   * The page that is asked for; none of a feed that does not exist.
   * @throws Refusal `invalid_request` if `before` names no note of the feed; `busy` of a search
   */
  async first(feed: Feed | undefined): Promise<LoadedPage> {
    // Before `before` is looked up, because a feed without notes must look like a read id that nobody has.
    if (feed === undefined || feed.noteCount === 0) return { feed, notes: [], next: undefined };
    let { before } = this.request;
    if (typeof before === 'string') {
      const note = await this.#parts.storage.note(feed, before);
      if (note === undefined) throw badBefore();
      before = positionOf(note);
    }
    return { feed, ...(await this.page(feed, this.request.limit, before)) };
  }

  /** As `first`, of the feed that has the read id. */
  async firstByReadId(): Promise<LoadedPage> {
    const { storage } = this.#parts;
    const { before, limit, tag } = this.request;
    if (typeof before === 'string' || this.isMadeUp)
      return this.first(await storage.feedByReadId(this.#readId));
    const page = await storage.pageByReadId(this.#readId, { limit, before, tag });
    return page ?? { feed: undefined, notes: [], next: undefined };
  }

  /**
   * Any page of the notes. It ends before its limit where texts are long, and where too much of the index is out of date.
   * @throws Refusal `busy` of a search
   */
  async page(feed: AdmittedFeed, limit: number, before: Position | undefined): Promise<AskedPage> {
    const { query, tag, from, to } = this.request;
    if (from !== undefined && to !== undefined && from > to) return { notes: [], next: undefined };
    if (query !== undefined) return this.#search(feed, query, { limit, before, tag });
    const page = await this.#parts.storage.page(feed, { limit, before: this.#startOf(before), tag });
    const last = page.notes.at(-1);
    const isEnd = from !== undefined && last !== undefined && last.createdAt < from;
    return { notes: page.notes.filter((note) => this.#isInTime(note)), next: isEnd ? undefined : page.next };
  }

  /** Whether a note of the feed is one of them. */
  async has(note: Note): Promise<boolean> {
    const { query, tag } = this.request;
    if (!this.#isInTime(note) || (tag !== undefined && !note.meta.tags.includes(tag))) return false;
    if (query === undefined) return true;
    return (await this.#parts.matches.find(query, [note], this.#readId))[0] !== undefined;
  }

  /** The index may have notes that changed since, so each is judged as it is now. */
  async #search(
    feed: AdmittedFeed,
    query: SearchQuery,
    { limit, before, tag }: PageQuery,
  ): Promise<AskedPage> {
    const { storage, matches } = this.#parts;
    const { from, to } = this.request;
    const notes: FoundNote[] = [];
    let [next, bytes] = [before, 0];
    while (this.#searches < MAX_SEARCHES) {
      this.#searches += 1;
      const missing = Math.max(limit - notes.length, FEWEST_CANDIDATES);
      const search = { query, tag, from, to, limit: missing, before: next };
      const page = await storage.search!(feed, search);
      this.#isCurrent &&= page.isCurrent;
      const found = await matches.find(query, page.notes, this.#readId);
      for (const [n, note] of page.notes.entries()) {
        const match = found[n];
        if (match === undefined) continue;
        if (notes.length === limit || bytes > PAGE_TEXT_BYTES) return { notes, next };
        notes.push({ ...note, match });
        bytes += note.content?.byteLength ?? 0;
        next = positionOf(note);
      }
      next = page.next;
      if (next === undefined || notes.length === limit || bytes > PAGE_TEXT_BYTES) break;
    }
    return { notes, next };
  }

  #startOf(before: Position | undefined): Position | undefined {
    const { to } = this.request;
    if (to === undefined || (before !== undefined && before.createdAt <= to)) return before;
    return { createdAt: to + 1, file: FIRST_FILE };
  }

  #isInTime({ createdAt }: Note): boolean {
    const { from, to } = this.request;
    return (from === undefined || createdAt >= from) && (to === undefined || createdAt <= to);
  }
}
