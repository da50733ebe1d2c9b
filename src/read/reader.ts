import { encodeCursor } from '../feeds/cursor.ts';
import { type FeedName, isNoteId, isReadId, parseNoteFile, type ReadId } from '../feeds/names.ts';
import { mediaType } from '../feeds/note-types.ts';
import { filesUrl } from '../feeds/urls.ts';
import { type Answer, json } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Preconditions, Representation } from '../http/representation.ts';
import { Refusal } from '../refusals.ts';
import { type Feed, type Note, PAGE_TEXT_BYTES, type Page, type Storage } from '../storage/storage.ts';
import type { Site } from '../web/site.ts';
import { type Tier, tierKey, withTier } from '../web/tier.ts';
import { KnownBases } from './bases.ts';
import type { Built, ReadCache } from './cache.ts';
import { feedVersion, publicFeedVersion } from './feed-version.ts';
import type { FileBodies } from './file-bodies.ts';
import { positionOf, withinBudget } from './page-budget.ts';
import { pageHtml } from './page-html.ts';
import { badBefore, pageQuery, type QuerySource, type RequestedPage, tagQuery } from './page-query.ts';
import { PictureSizes } from './picture-sizes.ts';
import type { Renderer } from './renderer.ts';
import type { ViewMaker } from './view-maker.ts';
import type { FeedTask } from './views/compose.ts';
import { type ReadPlace, UNKNOWN_FEED, type ViewFeed } from './views/document.ts';
import { readFeed } from './views/note-json.ts';
import type { FeedPageDocument, NotePageDocument } from './views/pages.ts';

/** The most notes in RSS and JSON Feed. */
const FEED_LENGTH = 50;
/** Stands in the addresses of pictures of a feed that has no read id yet. */
const NEW_READ_ID = 'new' as ReadId;
/** Level of the heading above a preview. */
const PREVIEW_LEVEL = 2;
/** Stands where a feed that does not exist has no read id; no note is shown with it. */
const NO_READ_ID = '' as ReadId;
/** How long one answer waits for its texts to be rendered, in ms; what is not ready then goes out as plain text. */
const RENDER_BUDGET = 4_000;

export interface ReaderParts {
  readonly storage: Storage;
  readonly cache: ReadCache;
  readonly renderer: Renderer;
  readonly views: ViewMaker;
  readonly files: FileBodies;
  /** Title of a feed that has none. */
  readonly serviceTitle: string;
  readonly site: Site;
  /** How feeds stand, where they need a license. */
  readonly tierOf?: ((feed: Feed | undefined) => Tier) | undefined;
}

/** What a view by a feed's name depends on of its request. */
export interface NamedRequest extends Preconditions, QuerySource {
  /** Absolute base of links, without a trailing slash. */
  readonly base: string;
}

/** A list by the name of a feed, which need not exist. */
export interface NamedList {
  readonly name: FeedName;
  readonly feed: Feed | undefined;
}

/** Answers every read: from the cache at once, else from the storage, kept for the next one. */
export class Reader {
  readonly #parts: ReaderParts;
  readonly #bases = new KnownBases();
  readonly #sizes: PictureSizes;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
    this.#sizes = new PictureSizes(parts.storage);
  }

  /** `GET /r/{read_id}/feed.xml` */
  rss(exchange: Exchange): Answer | Promise<Answer> {
    return this.#syndicated(exchange, 'rss');
  }

  /** `GET /r/{read_id}/feed.json` */
  jsonFeed(exchange: Exchange): Answer | Promise<Answer> {
    return this.#syndicated(exchange, 'json-feed');
  }

  /** `GET /r/{read_id}`, the page */
  readPage(exchange: Exchange): Answer | Promise<Answer> {
    const place = this.#placeOf(exchange);
    const query = feedPageQuery(exchange);
    const key = `read-page ${place.base} ${place.readId} ${pageKey(query)}`;
    return this.#answer(exchange, place.readId, key, async () => {
      const feed = await this.#parts.storage.feedByReadId(place.readId);
      const document = await this.#feedPage(place, feed, query, publicFeedVersion(feed));
      return this.#rendered({ view: 'read-page', document }, feed, isWorthKeeping(query));
    });
  }

  /** `GET /r/{read_id}/{id}`, the page */
  readNotePage(exchange: Exchange): Answer | Promise<Answer> {
    const place = this.#placeOf(exchange);
    const id = exchange.parameters[1]!;
    const key = `read-note-page ${place.base} ${place.readId} ${id}`;
    return this.#answer(exchange, place.readId, key, async () => {
      const feed = await this.#parts.storage.feedByReadId(place.readId);
      if (feed === undefined) throw notFound();
      const document = await this.#notePage(place, feed, id);
      return this.#rendered({ view: 'read-note-page', document }, feed, true);
    });
  }

  /** `GET /{feed}`, the page, for whoever may write to the feed; it need not exist. */
  async feedPage(exchange: Exchange, { name, feed }: NamedList): Promise<Answer> {
    const base = this.#baseOf(exchange);
    const query = feedPageQuery(exchange);
    const tier = this.#parts.tierOf?.(feed);
    const build = async () => {
      const place = { base, readId: feed?.readId ?? NO_READ_ID };
      const document = {
        ...(await this.#feedPage(place, feed, query, feedVersion(feed))),
        site: withTier(this.#parts.site, tier),
        name,
        exists: feed !== undefined,
        hasNotes: feed !== undefined && feed.noteCount > 0,
        isProtected: feed?.passwordHash !== undefined,
      };
      return this.#rendered({ view: 'feed-page', document }, feed, isWorthKeeping(query));
    };
    if (feed === undefined) return (await build()).representation.answer(exchange);
    // What is shown of the feed is what it was when the client was let in, so its version is a part of the key.
    const key = `feed-page ${base} ${feed.readId} ${name} ${feed.version} ${pageKey(query)}${tierKey(tier)}`;
    return this.#answer(exchange, feed.readId, key, build);
  }

  /** `GET /{feed}/{id}`, the page, for whoever may write to the feed. */
  async notePage(exchange: Exchange, feed: Feed, id: string): Promise<Answer> {
    const { name, readId } = feed;
    const base = this.#baseOf(exchange);
    const tier = this.#parts.tierOf?.(feed);
    const key = `note-page ${base} ${readId} ${name} ${feed.version} ${id}${tierKey(tier)}`;
    return this.#answer(exchange, readId, key, async () => {
      const document = {
        ...(await this.#notePage({ base, readId }, feed, id)),
        site: withTier(this.#parts.site, tier),
        name,
      };
      return this.#rendered({ view: 'note-page', document }, feed, true);
    });
  }

  /** `GET /r/{read_id}/{file}` */
  file(exchange: Exchange): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const named = parseNoteFile(exchange.parameters[1]!);
    if (named === undefined) throw notFound();
    return this.#answer(exchange, readId, `file ${readId} ${named.file}`, async () => {
      const feed = await this.#parts.storage.feedByReadId(readId);
      if (feed === undefined) throw notFound();
      return this.#parts.files.build(feed.name, named.file, mediaType(named.type));
    });
  }

  /** `GET /api/v1/read/{read_id}` */
  publicFeed(exchange: Exchange): Answer | Promise<Answer> {
    const place = this.#placeOf(exchange);
    const key = `feed ${place.base} ${place.readId}`;
    return this.#answer(exchange, place.readId, key, async () => {
      const feed = await this.#parts.storage.feedByReadId(place.readId);
      const representation = this.#parts.views.json(
        readFeed(feed ?? UNKNOWN_FEED, place),
        lastModified(feed),
      );
      return this.#built(representation, feed !== undefined, place.base);
    });
  }

  /** `GET /api/v1/read/{read_id}/notes` */
  publicList(exchange: Exchange): Answer | Promise<Answer> {
    const place = this.#placeOf(exchange);
    const query = pageQuery(exchange);
    const key = `list ${place.base} ${place.readId} ${pageKey(query)}`;
    return this.#answer(exchange, place.readId, key, async () => {
      const feed = await this.#parts.storage.feedByReadId(place.readId);
      const { notes, next } = await this.#notes(feed, query);
      const { showSender } = feed ?? UNKNOWN_FEED;
      const document = { ...place, showSender, notes, next: next && encodeCursor(next) };
      const task = { view: 'public-note-list', document } as const;
      const representation = await this.#parts.views.composed(task, lastModified(feed));
      return this.#built(representation, notes.length > 0 && isWorthKeeping(query), place.base);
    });
  }

  /** `GET /api/v1/read/{read_id}/notes/{id}` */
  publicNote(exchange: Exchange): Answer | Promise<Answer> {
    const place = this.#placeOf(exchange);
    const id = exchange.parameters[1]!;
    const key = `note ${place.base} ${place.readId} ${id}`;
    return this.#answer(exchange, place.readId, key, async () => {
      const feed = await this.#parts.storage.feedByReadId(place.readId);
      const note = feed && (await this.#note(feed, id));
      if (note === undefined) throw notFound();
      const document = { ...place, showSender: feed!.showSender, notes: [note] as const };
      const representation = await this.#parts.views.composed(
        { view: 'public-note', document },
        lastModified(feed),
      );
      return this.#built(representation, true, place.base);
    });
  }

  /** `GET /api/v1/feeds/{feed}/notes` for a feed that the client may write to. */
  async namedList(exchange: NamedRequest, { name, feed }: NamedList): Promise<Answer> {
    const base = this.#baseOf(exchange);
    const query = pageQuery(exchange);
    if (feed === undefined) return json(200, { notes: [], next: null });
    // Since the client was let in, the read id may have become another feed's: the name is a part of the key.
    const { readId } = feed;
    const key = `named-list ${base} ${readId} ${name} ${pageKey(query)}`;
    return this.#answer(exchange, readId, key, async () => {
      const { notes, next } = await this.#notes(feed, query);
      const document = { base, readId, name, notes, next: next && encodeCursor(next) };
      const representation = await this.#parts.views.composed(
        { view: 'named-note-list', document },
        lastModified(feed),
      );
      return this.#built(representation, notes.length > 0 && isWorthKeeping(query), base);
    });
  }

  /** `GET /api/v1/feeds/{feed}/notes/{id}` for a feed that the client may write to. */
  async namedNote(exchange: NamedRequest, feed: Feed, id: string): Promise<Answer> {
    const { name, readId } = feed;
    const base = this.#baseOf(exchange);
    const key = `named-note ${base} ${readId} ${name} ${id}`;
    return this.#answer(exchange, readId, key, async () => {
      const note = await this.#note(feed, id);
      if (note === undefined) throw notFound();
      const document = { base, readId, name, notes: [note] as const };
      const representation = await this.#parts.views.composed(
        { view: 'named-note', document },
        lastModified(feed),
      );
      return this.#built(representation, true, base);
    });
  }

  /** The HTML of a page for a text that is no note yet, of a feed that need not exist. */
  async preview(content: Uint8Array, base: string, feed: Feed | undefined): Promise<string> {
    const { html } = await this.#parts.renderer.text(content, filesUrl(base, feed?.readId ?? NEW_READ_ID));
    return pageHtml(html, PREVIEW_LEVEL, new Map());
  }

  #syndicated(exchange: Exchange, view: 'rss' | 'json-feed'): Answer | Promise<Answer> {
    const { base, readId } = this.#placeOf(exchange);
    const tag = tagQuery(exchange);
    return this.#answer(exchange, readId, `${view} ${base} ${readId} ${tag ?? ''}`, async () => {
      const feed = await this.#parts.storage.feedByReadId(readId);
      const { notes } = await this.#notes(feed, { limit: FEED_LENGTH, tag, before: undefined });
      const document = { ...this.#document({ base, readId }, feed), tag, notes };
      return this.#rendered({ view, document }, feed, true);
    });
  }

  async #feedPage(
    place: ReadPlace,
    feed: Feed | undefined,
    query: RequestedPage,
    version: string,
  ): Promise<FeedPageDocument> {
    const { notes, next } = await this.#notes(feed, query);
    return {
      ...this.#document(place, feed),
      ...(await this.#ofPage(place, feed, notes)),
      tag: query.tag,
      version,
      isOlder: query.before !== undefined,
      next: next && encodeCursor(next),
    };
  }

  /** @throws Refusal `not_found` */
  async #notePage(place: ReadPlace, feed: Feed, id: string): Promise<NotePageDocument> {
    const note = await this.#note(feed, id);
    if (note === undefined) throw notFound();
    return {
      ...this.#document(place, feed),
      ...(await this.#ofPage(place, feed, [note])),
      neighbours: await this.#parts.storage.neighbours(feed.name, positionOf(note)),
    };
  }

  #document({ base, readId }: ReadPlace, feed: Feed | undefined) {
    const { serviceTitle } = this.#parts;
    return { base, readId, serviceTitle, feed: feed === undefined ? UNKNOWN_FEED : viewFeed(feed) };
  }

  async #ofPage(place: ReadPlace, feed: Feed | undefined, notes: readonly Note[]) {
    const sizes = feed === undefined ? new Map() : await this.#sizes.of(place, feed, notes);
    return { site: this.#parts.site, notes, sizes };
  }

  /** A view of rendered notes. `isKept` says that it may take room. */
  async #rendered(asked: FeedTask, feed: Feed | undefined, isKept: boolean): Promise<Built> {
    const { renderer, views } = this.#parts;
    const { notes, base } = asked.document;
    const keep = notes.length > 0 && this.#bases.admit(base);
    const until = performance.now() + RENDER_BUDGET;
    const { task, composed, isComplete } = await renderer.render(asked, { until, keep });
    const representation = await views.composed(task, lastModified(feed), composed);
    return { representation, keep: keep && isKept && isComplete };
  }

  /** Must stay free of work: on a hit this is all that happens between request and answer. */
  #answer(
    exchange: Preconditions,
    readId: ReadId,
    key: string,
    build: () => Promise<Built>,
  ): Answer | Promise<Answer> {
    const ready = this.#parts.cache.get(key);
    return ready === undefined
      ? this.#parts.cache.load(readId, key, build).then((built) => built.answer(exchange))
      : ready.answer(exchange);
  }

  #baseOf({ base }: Pick<Exchange, 'base'>): string {
    this.#bases.use(base);
    return base;
  }

  #placeOf(exchange: Exchange): ReadPlace {
    return { readId: readIdOf(exchange), base: this.#baseOf(exchange) };
  }

  #built(representation: Representation, worthKeeping: boolean, base: string): Built {
    return { representation, keep: worthKeeping && this.#bases.admit(base) };
  }

  /** The notes asked for, fewer where their texts are long. */
  async #notes(feed: Feed | undefined, query: RequestedPage): Promise<Page> {
    // Where there is nothing, no place is looked up: a feed without notes must read like a read id nobody has.
    if (feed === undefined || feed.noteCount === 0) return { notes: [], next: undefined };
    const { limit, tag } = query;
    const before = typeof query.before === 'string' ? await this.#note(feed, query.before) : query.before;
    if (query.before !== undefined && before === undefined) throw badBefore();
    const position = before && ('file' in before ? before : positionOf(before));
    const page = await this.#parts.storage.page(feed.name, { limit, tag, before: position });
    return withinBudget(page, PAGE_TEXT_BYTES);
  }

  async #note(feed: Feed, id: string): Promise<Note | undefined> {
    return isNoteId(id) ? this.#parts.storage.note(feed.name, id) : undefined;
  }
}

/**
 * The read id in the path. One that nobody has is as good as any other: it reads as an empty feed.
 * @throws Refusal `not_found` for what can never be one
 */
export function readIdOf(exchange: Exchange): ReadId {
  const text = exchange.parameters[0]!;
  if (!isReadId(text)) throw notFound();
  return text;
}

/** An empty feed is not dated: nothing tells it from a read id that nobody has. */
function lastModified(feed: Feed | undefined): number | undefined {
  return feed === undefined || feed.noteCount === 0 ? undefined : feed.changedAt;
}

/** The page of a feed that a query asks for: as long as RSS. */
function feedPageQuery(exchange: Exchange): RequestedPage {
  return { ...pageQuery(exchange), limit: FEED_LENGTH };
}

/** What public views may know of a feed: not its name. */
function viewFeed({ title, description, image, showSender, changedAt }: Feed): ViewFeed {
  return { title, description, image, showSender, changedAt };
}

/** There is no end to the places that strangers can make up, and the pages after the first are seldom asked for. */
function isWorthKeeping({ before }: RequestedPage): boolean {
  return before === undefined;
}

function pageKey({ limit, tag, before }: RequestedPage): string {
  const place = typeof before === 'string' ? before : before && encodeCursor(before);
  return `${limit} ${tag ?? ''} ${place ?? ''}`;
}

function notFound(): Refusal {
  return new Refusal('not_found', 'There is no such note.');
}
