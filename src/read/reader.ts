import type { NamedFeed } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import { isReadId, parseNoteFile, type ReadId } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { mediaType } from '../feeds/note-types.ts';
import { filesUrl } from '../feeds/urls.ts';
import { type Answer, json } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { type Preconditions, preferredCoding } from '../http/representation.ts';
import type { Tier } from '../licenses/licenses.ts';
import { existing, notFound } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import { FileReplaced } from '../storage/stored-file.ts';
import { type Site, withTier } from '../web/site.ts';
import { feedIdentity, noteEtag } from '../writing/etags.ts';
import type { CacheableView, ReadCache } from './cache.ts';
import { KnownBases } from './cache.ts';
import { Documents } from './documents.ts';
import type { FileBodies } from './file-bodies.ts';
import { lifetimeOf } from './lifetime.ts';
import { loadNote, loadPage, loadPageByReadId } from './note-pages.ts';
import { placedHtml } from './note-text.ts';
import { pageKey, pageQuery, type QuerySource, type RequestedPage, tagQuery } from './page-query.ts';
import { Previews } from './previews.ts';
import type { Renderer } from './renderer.ts';
import { VIEW_MAX_AGE, type ViewMaker, type ViewToMake } from './view-maker.ts';
import { type FeedTask, type JsonTask, withNotes } from './views/compose.ts';
import { feedVersion, publicFeedVersion, type ReadPlace, UNKNOWN_FEED } from './views/document.ts';
import { type NamedPlace, namedNote, readFeed } from './views/note-json.ts';

/** The most notes in RSS, JSON Feed and pages. */
const MAX_FEED_NOTES = 50;
/** How often a file may be replaced before it is read. */
const MAX_ATTEMPTS = 5;
/** Stands in the addresses of pictures in a preview for a feed that has no read id yet. */
const PREVIEW_READ_ID = 'new' as ReadId;
/** Level of the heading above a preview. */
const PREVIEW_LEVEL = 2;
/** The read id in the page of a feed that does not exist, which shows no note. */
const NO_READ_ID = '' as ReadId;

interface ReaderParts {
  readonly storage: Storage;
  readonly cache: ReadCache;
  readonly renderer: Renderer;
  readonly views: ViewMaker;
  readonly files: FileBodies;
  /** Title of a feed that has none. */
  readonly serviceTitle: string;
  readonly site: Site;
  /** The tier of a feed, if feeds need a license. */
  readonly tierOf?: ((feed: Feed | undefined) => Tier) | undefined;
}

/** What a view by a feed's name depends on of its request. */
export interface NamedRequest extends Preconditions, QuerySource {
  /** Absolute base of links, without a trailing slash. */
  readonly base: string;
}

/** Builds a view of a feed, which need not exist. */
type Build = (place: ReadPlace) => Promise<CacheableView>;

/** Answers every read: from the cache, else from the storage, and caches the view. */
export class Reader {
  readonly #parts: ReaderParts;
  readonly #storage: Storage;
  readonly #bases = new KnownBases();
  readonly #documents: Documents;
  readonly #previews: Previews;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
    this.#storage = parts.storage;
    this.#documents = new Documents(parts);
    this.#previews = new Previews(parts.renderer);
  }

  /** `GET /r/{read_id}/feed.xml` and `feed.json` */
  syndication(exchange: Exchange, view: 'rss' | 'json-feed'): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const tag = tagQuery(exchange);
    return this.#byReadId(exchange, readId, `${view} ${tag ?? ''}`, async (place) => {
      const query = { limit: MAX_FEED_NOTES, tag, before: undefined };
      const { feed, notes } = await loadPageByReadId(this.#storage, readId, query);
      const document = { ...this.#documents.feed(place, feed), tag, notes };
      return this.#renderedView(exchange, { view, document }, feed);
    });
  }

  /** `GET /r/{read_id}`, the page */
  readPage(exchange: Exchange): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const query = feedPageQuery(exchange);
    return this.#byReadId(exchange, readId, `read-page ${pageKey(query)}`, async (place) => {
      const page = await loadPageByReadId(this.#storage, readId, query);
      const { feed } = page;
      const document = await this.#documents.feedPage(place, page, query, publicFeedVersion(feed));
      return this.#renderedView(exchange, { view: 'read-page', document }, feed, isFirst(query));
    });
  }

  /** `GET /r/{read_id}/{id}`, the page */
  readNotePage(exchange: Exchange): Answer | Promise<Answer> {
    const [readId, id] = [readIdOf(exchange), exchange.parameters[1]!];
    return this.#byReadId(exchange, readId, `read-note-page ${id}`, async (place) => {
      const feed = await this.#storage.feedByReadId(readId);
      const document = await this.#documents.notePage(place, feed, id);
      return this.#renderedView(exchange, { view: 'read-note-page', document }, feed);
    });
  }

  /** `GET /{feed}`, the page, for a client that may write to the feed, which need not exist. */
  async feedPage(exchange: Exchange, { name, feed }: NamedFeed): Promise<Answer> {
    const base = this.#baseOf(exchange);
    const query = feedPageQuery(exchange);
    const tier = this.#parts.tierOf?.(feed);
    const build = async () => {
      const place = { base, readId: feed?.readId ?? NO_READ_ID };
      const page = await loadPage(this.#storage, feed, query);
      const document = {
        ...(await this.#documents.feedPage(place, page, query, feedVersion(feed))),
        site: withTier(this.#parts.site, tier),
        name,
        hasNotes: feed !== undefined && feed.noteCount > 0,
        isProtected: feed?.passwordHash !== undefined,
        identity: feed && feedIdentity(feed),
      };
      return this.#renderedView(exchange, { view: 'feed-page', document }, feed, isFirst(query));
    };
    if (feed === undefined) return (await build()).representation.answer(exchange);
    // The page shows the feed as admission loaded it, so the key has its version.
    const key = `feed-page ${base} ${feed.readId} ${feed.key} ${feed.version} ${pageKey(query)} ${JSON.stringify(tier)}`;
    return this.#answer(exchange, feed.readId, key, build);
  }

  /** `GET /{feed}/{id}`, the page, for a client that may write to the feed. */
  async notePage(exchange: Exchange, feed: Feed, id: string): Promise<Answer> {
    const { name, readId } = feed;
    const base = this.#baseOf(exchange);
    const tier = this.#parts.tierOf?.(feed);
    const key = `note-page ${base} ${readId} ${feed.key} ${feed.version} ${id} ${JSON.stringify(tier)}`;
    return this.#answer(exchange, readId, key, async () => {
      const site = withTier(this.#parts.site, tier);
      const document = { ...(await this.#documents.notePage({ base, readId }, feed, id)), site, name };
      return this.#renderedView(exchange, { view: 'note-page', document }, feed);
    });
  }

  /** `GET /r/{read_id}/{file}` */
  file(exchange: Exchange, attempt = 1): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const named = existing(parseNoteFile(exchange.parameters[1]!), 'note');
    const answer = this.#answer(exchange, readId, `file ${readId} ${named.file}`, () =>
      this.#parts.files.build(readId, named.file, mediaType(named.type)),
    );
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((cause) => {
      if (!(cause instanceof FileReplaced) || attempt === MAX_ATTEMPTS) throw cause;
      this.#parts.cache.drop(readId);
      return this.file(exchange, attempt + 1);
    });
  }

  /** `GET /api/v1/read/{read_id}` */
  publicFeed(exchange: Exchange): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    return this.#byReadId(exchange, readId, 'feed', async (place) => {
      const feed = await this.#storage.feedByReadId(readId);
      return {
        representation: this.#parts.views.json(readFeed(feed ?? UNKNOWN_FEED, place), changedAt(feed)),
        isCacheable: feed !== undefined,
        isGuest: feed !== undefined && !this.#bases.admit(place.base),
      };
    });
  }

  /** `GET /api/v1/read/{read_id}/notes` */
  publicList(exchange: Exchange): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const query = pageQuery(exchange);
    return this.#byReadId(exchange, readId, `list ${pageKey(query)}`, async (place) => {
      const { feed, ...page } = await loadPageByReadId(this.#storage, readId, query);
      const document = { ...place, ...page, showSender: (feed ?? UNKNOWN_FEED).showSender };
      return this.#jsonView(exchange, { view: 'public-note-list', document }, feed, isFirst(query));
    });
  }

  /** `GET /api/v1/read/{read_id}/notes/{id}` */
  publicNote(exchange: Exchange): Answer | Promise<Answer> {
    const [readId, id] = [readIdOf(exchange), exchange.parameters[1]!];
    return this.#byReadId(exchange, readId, `note ${id}`, async (place) => {
      const feed = await this.#storage.feedByReadId(readId);
      const notes = [await loadNote(this.#storage, feed, id)] as const;
      const document = { ...place, showSender: feed!.showSender, notes };
      return this.#jsonView(exchange, { view: 'public-note', document }, feed);
    });
  }

  /** `GET /api/v1/feeds/{feed}/notes` for a client that may write to the feed, which need not exist. */
  async namedList(exchange: NamedRequest, { name, feed }: NamedFeed): Promise<Answer> {
    const base = this.#baseOf(exchange);
    const query = pageQuery(exchange);
    if (feed === undefined) return json(200, { notes: [], next: null });
    const { readId } = feed;
    return this.#answer(
      exchange,
      readId,
      `named-list ${base} ${readId} ${feed.key} ${pageKey(query)}`,
      async () => {
        const { notes, next } = await loadPage(this.#storage, feed, query);
        const document = { base, readId, name, notes, next };
        return this.#jsonView(exchange, { view: 'named-note-list', document }, feed, isFirst(query));
      },
    );
  }

  /** `GET /api/v1/feeds/{feed}/notes/{id}` for a client that may write to the feed. */
  async namedNote(exchange: NamedRequest, feed: Feed, id: string): Promise<Answer> {
    const { name, readId } = feed;
    const base = this.#baseOf(exchange);
    return this.#answer(exchange, readId, `named-note ${base} ${readId} ${feed.key} ${id}`, async () => {
      const note = await loadNote(this.#storage, feed, id);
      const document = { base, readId, name, notes: [note] as const };
      return this.#jsonView(exchange, { view: 'named-note', document }, feed, true, noteEtag(note, feed));
    });
  }

  /** The JSON of a note that was just changed. Never refused, because the change is done. */
  async changedNote(note: Note, place: NamedPlace): Promise<ReturnType<typeof namedNote>> {
    return namedNote(await this.#parts.renderer.titledNote(note, place.readId), place);
  }

  /**
   * The HTML of a page for a text that is no note yet, of a feed that need not exist.
   * @throws Refusal `busy`, also if the client asks for another one meanwhile; ClientGone
   */
  async preview(exchange: Exchange, content: Uint8Array, feed: Feed | undefined): Promise<string> {
    const address = filesUrl(exchange.base, feed?.readId ?? PREVIEW_READ_ID);
    const rendered = await this.#previews.render(content, exchange);
    return placedHtml(rendered, address, { level: PREVIEW_LEVEL, sizes: new Map() });
  }

  async #renderedView(
    request: Preconditions,
    asked: FeedTask,
    feed: Feed | undefined,
    isCacheable = true,
  ): Promise<CacheableView> {
    const coding = preferredCoding(request.header('accept-encoding'));
    const { task, composed, isComplete } = await this.#parts.renderer.render(asked, coding);
    return this.#view({ task, coding, composed }, feed, isCacheable && isComplete);
  }

  async #jsonView(
    request: Preconditions,
    asked: JsonTask,
    feed: Feed | undefined,
    isCacheable = true,
    etag?: string,
  ): Promise<CacheableView> {
    const { notes, readId } = asked.document;
    const { notes: titled, isComplete } = await this.#parts.renderer.titled(notes, readId);
    const coding = preferredCoding(request.header('accept-encoding'));
    return this.#view({ task: withNotes(asked, titled), coding }, feed, isCacheable && isComplete, etag);
  }

  /**
   * @param isCacheable false if the view must not take room in the cache
   * @param etag by default the hash of its bytes
   */
  async #view(
    view: ViewToMake,
    feed: Feed | undefined,
    isCacheable: boolean,
    etag?: string,
  ): Promise<CacheableView> {
    const { notes, base } = view.task.document;
    const expiries = notes.map(({ meta }) => meta.expires);
    const { until, mustRevalidate } = lifetimeOf(expiries, VIEW_MAX_AGE);
    const about = { changedAt: changedAt(feed), mustRevalidate, etag };
    const representation = await this.#parts.views.composed(view, about);
    const isGuest = notes.length > 0 && !this.#bases.admit(base);
    return { representation, isCacheable: isCacheable && notes.length > 0, isGuest, until };
  }

  #byReadId(exchange: Exchange, readId: ReadId, view: string, build: Build): Answer | Promise<Answer> {
    const base = this.#baseOf(exchange);
    return this.#answer(exchange, readId, `${base} ${readId} ${view}`, () => build({ base, readId }));
  }

  /** Keep this free of work: on a hit nothing else happens between request and answer. */
  #answer(
    exchange: Preconditions,
    readId: ReadId,
    key: string,
    build: () => Promise<CacheableView>,
  ): Answer | Promise<Answer> {
    const { cache } = this.#parts;
    const ready = cache.get(key);
    if (ready !== undefined) return ready.answer(exchange);
    return cache.load(readId, key, build).then((view) => view.answer(exchange));
  }

  #baseOf({ base }: Pick<Exchange, 'base'>): string {
    this.#bases.use(base);
    return base;
  }
}

/**
 * The read id in the path. One that nobody has reads as an empty feed.
 * @throws Refusal `not_found` if it can never be one
 */
export function readIdOf(exchange: Exchange): ReadId {
  const text = exchange.parameters[0]!;
  if (!isReadId(text)) throw notFound('note');
  return text;
}

/** The page of a feed that a query asks for. */
function feedPageQuery(exchange: Exchange): RequestedPage {
  return { ...pageQuery(exchange), limit: MAX_FEED_NOTES };
}

/** An empty feed has no date: it must look like a read id that nobody has. */
function changedAt(feed: Feed | undefined): number | undefined {
  return feed === undefined || feed.noteCount === 0 ? undefined : feed.changedAt;
}

/** Later pages are not cached: strangers can make up any number of cursors, and few clients ask for them. */
function isFirst({ before }: RequestedPage): boolean {
  return before === undefined;
}
