import type { NamedFeed } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import { isReadId, type NoteId, parseNoteFile, type ReadId } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { mediaType } from '../feeds/note-types.ts';
import { tagStart } from '../feeds/tags.ts';
import { filesUrl } from '../feeds/urls.ts';
import { type Answer, json } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Preconditions } from '../http/representation.ts';
import type { Tier } from '../licenses/licenses.ts';
import { existing, notFound, onRefusal, Refusal } from '../refusals.ts';
import type { Json } from '../schemas.ts';
import { PAGE_TEXT_BYTES, type Storage } from '../storage/storage.ts';
import { FileReplaced } from '../storage/stored-file.ts';
import { type Site, type Visitor, withTier, withVisitor } from '../web/site.ts';
import { feedIdentity, noteEtag } from '../writing/etags.ts';
import { AskedNotes, type AskedNotesParts } from './asked-notes.ts';
import { Attachments } from './attachments.ts';
import { type CacheableView, KnownBases, type ReadCache } from './cache.ts';
import { Documents } from './documents.ts';
import type { FileBodies } from './file-bodies.ts';
import { ASK_EACH_TIME, lifetimeOf, VIEW_TERMS } from './lifetime.ts';
import { type LoadedPage, listOf, loadNote } from './note-pages.ts';
import { placedHtml } from './note-text.ts';
import { changedAt, NoteViews } from './note-views.ts';
import {
  notesKey,
  notesQuery,
  pageKey,
  pageQuery,
  type QuerySource,
  type RequestedNotes,
  type RequestedPage,
} from './page-query.ts';
import { Previews } from './previews.ts';
import type { Renderer } from './renderer.ts';
import { type ShownPage, shownFrom } from './shown-pages.ts';
import { robotsField, type ViewMaker } from './view-maker.ts';
import { feedVersion, publicFeedVersion, type ReadPlace, UNKNOWN_FEED } from './views/document.ts';
import { namedNote, publicNote, readFeed } from './views/note-json.ts';

/** The most notes in RSS, JSON Feed and pages. */
const MAX_FEED_NOTES = 50;
/** How often a file may be replaced before it is read. */
const MAX_ATTEMPTS = 5;
/** For how long a list of tags is kept, ms: a note that expires meanwhile changes it, and nobody is told. */
const TAGS_MS = 1_000;
/** Stands in the addresses of pictures in a preview for a feed that has no read id yet. */
const PREVIEW_READ_ID = 'new' as ReadId;
/** Level of the heading above a preview. */
const PREVIEW_LEVEL = 1;
/** The read id in views by the name of a feed that does not exist, which show no note. */
const NO_READ_ID = '' as ReadId;

interface ReaderParts {
  readonly storage: Storage;
  readonly matches: AskedNotesParts['matches'];
  readonly cache: ReadCache;
  readonly renderer: Renderer;
  readonly views: ViewMaker;
  readonly files: FileBodies;
  /** Title of a feed that has none. */
  readonly serviceTitle: string;
  readonly site: Site;
  /** WebSub hubs that are told of changes. */
  readonly hubs: readonly string[];
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
  readonly #notes: NoteViews;
  readonly #documents: Documents;
  readonly #previews: Previews;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
    this.#storage = parts.storage;
    this.#notes = new NoteViews({ ...parts, bases: this.#bases });
    this.#documents = new Documents(parts);
    this.#previews = new Previews(parts.renderer);
  }

  /** `GET /r/{read_id}/feed.xml` and `feed.json` */
  syndication(exchange: Exchange, view: 'rss' | 'json-feed'): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const query = this.#searchable(notesQuery(exchange));
    return this.#byReadId(exchange, readId, `${view} ${notesKey(query.asked)}`, async (place) => {
      const asked = this.#asked(readId, { ...query, limit: MAX_FEED_NOTES, before: undefined });
      const attachments = this.#attachments(place);
      const { feed, notes: shown } = await this.#shown(
        asked,
        await this.#firstByReadId(asked, readId),
        attachments,
      );
      const texts = shown.filter(({ type }) => type === 'md');
      if (feed !== undefined) await attachments.addNamedIn(feed, texts);
      const notes = shown.map((note) => ({ ...note, attachments: attachments.picturesOf(note) }));
      const document = { ...this.#documents.feedOf(place, feed, query), notes };
      return this.#notes.rendered(exchange, { view, document }, { feed, attachments, asked });
    });
  }

  /** `GET /r/{read_id}`, the page */
  readPage(exchange: Exchange): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const query = this.#feedPageQuery(exchange);
    return this.#byReadId(exchange, readId, `read-page ${pageKey(query)}`, async (place) => {
      const asked = this.#asked(readId, query);
      const attachments = this.#attachments(place);
      const page = await this.#shown(asked, await this.#firstByReadId(asked, readId), attachments);
      const { feed } = page;
      const document = await this.#documents.feedPage(place, page, query, publicFeedVersion(feed));
      const basis = { feed, attachments, asked };
      return this.#notes.rendered(exchange, { view: 'read-page', document }, basis);
    });
  }

  /** `GET /r/{read_id}/{id}`, the page */
  readNotePage(exchange: Exchange): Answer | Promise<Answer> {
    const [readId, id] = [readIdOf(exchange), exchange.parameters[1]!];
    return this.#byReadId(exchange, readId, `read-note-page ${id}`, async (place) => {
      const feed = await this.#feedByReadId(readId);
      const attachments = this.#attachments(place);
      const document = await this.#documents.notePage(place, feed, id, attachments);
      const basis = { feed, attachments, expires: document.neighbours.expires };
      return this.#notes.rendered(exchange, { view: 'read-note-page', document }, basis);
    });
  }

  /** `GET /{feed}`, the page, for a client that may write to the feed, which need not exist. */
  async feedPage(
    exchange: Exchange,
    { name, feed }: NamedFeed,
    visitor: Visitor | undefined,
  ): Promise<Answer> {
    const base = this.#baseOf(exchange);
    const query = this.#feedPageQuery(exchange);
    const tier = this.#parts.tierOf?.(feed);
    const site = this.#siteFor(tier, visitor);
    const build = async () => {
      const place = { base, readId: feed?.readId ?? NO_READ_ID };
      const asked = this.#asked(place.readId, query);
      const attachments = this.#attachments(place);
      const page = await this.#shown(asked, await asked.first(feed), attachments);
      const document = {
        ...(await this.#documents.feedPage(place, page, query, feedVersion(feed))),
        site,
        name,
        hasNotes: feed !== undefined && feed.noteCount > 0,
        isProtected: feed?.passwordHash !== undefined,
        identity: feed && feedIdentity(feed),
      };
      const basis = { feed, attachments, asked };
      return this.#notes.rendered(exchange, { view: 'feed-page', document }, basis);
    };
    if (feed === undefined) return (await build()).representation.answer(exchange);
    // The page shows the feed as admission loaded it, so the key has its version.
    const key = `feed-page ${base} ${feed.readId} ${feed.key} ${feed.version} ${pageKey(query)} ${siteKey(site)}`;
    return this.#answer(exchange, feed.readId, key, build);
  }

  /** `GET /{feed}/{id}`, the page, for a client that may write to the feed. */
  async notePage(exchange: Exchange, feed: Feed, id: string, visitor: Visitor | undefined): Promise<Answer> {
    const { name, readId } = feed;
    const base = this.#baseOf(exchange);
    const site = this.#siteFor(this.#parts.tierOf?.(feed), visitor);
    const key = `note-page ${base} ${readId} ${feed.key} ${feed.version} ${id} ${siteKey(site)}`;
    return this.#answer(exchange, readId, key, async () => {
      const place = { base, readId };
      const attachments = this.#attachments(place);
      const page = await this.#documents.notePage(place, feed, id, attachments);
      const document = { ...page, site, name };
      const basis = { feed, attachments, expires: page.neighbours.expires };
      return this.#notes.rendered(exchange, { view: 'note-page', document }, basis);
    });
  }

  /** `GET /r/{read_id}/{file}` */
  file(exchange: Exchange, attempt = 1): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const named = existing(parseNoteFile(exchange.parameters[1]!), 'note');
    const answer = this.#answer(exchange, readId, `file ${readId} ${named.file}`, () =>
      onRefusal(
        () => this.#parts.files.build(readId, named.file, mediaType(named.type)),
        async (refusal) => {
          if (refusal.code === 'not_found') await this.refuseRemoved(readId);
          throw refusal;
        },
      ),
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
      const feed = await this.#feedByReadId(readId);
      return {
        representation: this.#parts.views.json(readFeed(feed ?? UNKNOWN_FEED, place), 'public-note', {
          readId,
          changedAt: changedAt(feed),
          cacheControl: lifetimeOf([], VIEW_TERMS).cacheControl,
        }),
        isCacheable: feed !== undefined,
        isGuest: feed !== undefined && !this.#bases.admit(place.base),
      };
    });
  }

  /** `GET /api/v1/read/{read_id}/notes` */
  publicList(exchange: Exchange): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const query = this.#searchable(pageQuery(exchange));
    return this.#byReadId(exchange, readId, `list ${pageKey(query)}`, async (place) => {
      const asked = this.#asked(readId, query);
      const attachments = this.#attachments(place);
      const page = await this.#firstByReadId(asked, readId);
      const { feed } = page;
      const { showSender } = feed ?? UNKNOWN_FEED;
      const document = { ...place, ...(await listOf(page, attachments)), showSender };
      const basis = { feed, attachments, asked };
      return this.#notes.json(exchange, { view: 'public-note-list', document }, basis);
    });
  }

  /** `GET /api/v1/read/{read_id}/notes/{id}` */
  publicNote(exchange: Exchange): Answer | Promise<Answer> {
    const [readId, id] = [readIdOf(exchange), exchange.parameters[1]!];
    return this.#byReadId(exchange, readId, `note ${id}`, async (place) => {
      const feed = await this.#feedByReadId(readId);
      const attachments = this.#attachments(place);
      const note = await loadNote(this.#storage, feed, id);
      const notes = [await attachments.shownNote(feed!, note)] as const;
      const document = { ...place, showSender: feed!.showSender, notes };
      return this.#notes.json(exchange, { view: 'public-note', document }, { feed, attachments });
    });
  }

  /**
   * `GET /api/v1/feeds/{feed}/notes` for a client that may write to the feed, which need not exist.
   * @param maxBytes of texts, but for one note that has more
   */
  async namedList(
    exchange: NamedRequest,
    { name, feed }: NamedFeed,
    maxBytes = PAGE_TEXT_BYTES,
  ): Promise<Answer> {
    const base = this.#baseOf(exchange);
    const query = this.#searchable(pageQuery(exchange));
    if (feed === undefined)
      return json(200, { notes: [], next: null }, robotsField(query.asked === undefined));
    const { readId } = feed;
    // Its date is that of the feed at its admission, so the key has the version that the feed had then.
    return this.#answer(
      exchange,
      readId,
      `named-list ${base} ${readId} ${feed.key} ${feed.version} ${maxBytes} ${pageKey(query)}`,
      async () => {
        const place = { base, readId, name };
        const asked = this.#asked(readId, query);
        const attachments = this.#attachments(place);
        const page = await asked.first(feed);
        const document = { ...place, ...(await listOf(page, attachments, maxBytes)) };
        const basis = { feed, attachments, asked };
        return this.#notes.json(exchange, { view: 'named-note-list', document }, basis);
      },
    );
  }

  /** `GET /api/v1/read/{read_id}/tags` */
  publicTags(exchange: Exchange): Answer | Promise<Answer> {
    const readId = readIdOf(exchange);
    const start = tagStart(exchange.query('q') ?? '');
    return this.#answer(exchange, readId, `tags ${readId} ${JSON.stringify(start ?? null)}`, async () =>
      this.#tagsView('public-note', readId, await this.#feedByReadId(readId), start),
    );
  }

  /** `GET /api/v1/feeds/{feed}/tags` for a client that may write to the feed, which need not exist. */
  async namedTags(exchange: NamedRequest, { feed }: NamedFeed): Promise<Answer> {
    const start = tagStart(exchange.query('q') ?? '');
    const build = () => this.#tagsView('named-note', feed?.readId ?? NO_READ_ID, feed, start);
    if (feed === undefined) return (await build()).representation.answer(exchange);
    return this.#answer(
      exchange,
      feed.readId,
      `named-tags ${feed.readId} ${feed.key} ${JSON.stringify(start ?? null)}`,
      build,
    );
  }

  /** `GET /api/v1/feeds/{feed}/notes/{id}` for a client that may write to the feed. */
  async namedNote(exchange: NamedRequest, feed: Feed, id: string): Promise<Answer> {
    const { name, readId } = feed;
    const base = this.#baseOf(exchange);
    // Its date is that of the feed at its admission, as in `namedList`.
    const key = `named-note ${base} ${readId} ${feed.key} ${feed.version} ${id}`;
    return this.#answer(exchange, readId, key, async () => {
      const place = { base, readId, name };
      const attachments = this.#attachments(place);
      const note = await loadNote(this.#storage, feed, id);
      const document = { ...place, notes: [await attachments.shownNote(feed, note)] as const };
      const basis = { feed, attachments, etag: noteEtag(note, feed) };
      return this.#notes.json(exchange, { view: 'named-note', document }, basis);
    });
  }

  /**
   * Refuses the reads of a link that the operator has removed. Called only if nothing was found at a read id. Such an answer is not
   * cached, so the record is looked up at each read.
   * @throws Refusal `removed`
   */
  async refuseRemoved(readId: ReadId): Promise<void> {
    const found = await this.#storage.records.find('link', [readId]);
    if (found.length > 0) throw new Refusal('removed', 'The operator has removed what was here.');
  }

  /** The JSON of a note that was just changed. Never refused, because the change is done. */
  async changedNote(note: Note, feed: Feed, base: string): Promise<ReturnType<typeof namedNote>> {
    const { name, readId } = feed;
    const place = { base, readId, name };
    const shown = await this.#attachments(place).changedNote(feed, note);
    return namedNote(await this.#parts.renderer.titledNote(shown, readId), place);
  }

  /** The JSON of a note for events: by the feed's name, or by the read id. Undefined if there is no such note. */
  async eventNote(
    feed: Feed,
    id: NoteId,
    { base, isPublic }: { readonly base: string; readonly isPublic: boolean },
  ): Promise<Json<'Note'> | undefined> {
    const note = await this.#storage.note(feed, id);
    if (!note) return undefined;
    if (!isPublic) return this.changedNote(note, feed, base);
    const place = { base, readId: feed.readId, showSender: feed.showSender };
    const shown = await this.#attachments(place).changedNote(feed, note);
    return publicNote(await this.#parts.renderer.titledNote(shown, feed.readId), place);
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

  /** @param start of the tags; undefined if none begins so */
  async #tagsView(
    view: 'public-note' | 'named-note',
    readId: ReadId,
    feed: Feed | undefined,
    start: string | undefined,
  ): Promise<CacheableView> {
    const hasTags = feed !== undefined && feed.noteCount > 0 && start !== undefined;
    const body: Json<'TagList'> = { tags: hasTags ? await this.#storage.tags(feed, start) : [] };
    const about = {
      readId,
      changedAt: undefined,
      cacheControl: ASK_EACH_TIME,
      isIndexed: start === '',
    };
    return {
      representation: this.#parts.views.json(body, view, about),
      isCacheable: body.tags.length > 0,
      isGuest: true,
      until: Date.now() + TAGS_MS,
    };
  }

  /** The page of a feed that a query asks for. */
  #feedPageQuery(source: QuerySource): RequestedPage {
    return { ...this.#searchable(pageQuery(source)), limit: MAX_FEED_NOTES };
  }

  /** @throws Refusal `invalid_request` for a search on an instance without one */
  #searchable<R extends RequestedNotes>(request: R): R {
    if (request.query !== undefined && this.#storage.search === undefined)
      throw new Refusal('invalid_request', 'q: this instance has no search.');
    return request;
  }

  /** @throws Refusal `removed` */
  async #feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    const feed = await this.#storage.feedByReadId(readId);
    if (feed === undefined) await this.refuseRemoved(readId);
    return feed;
  }

  /** @throws Refusal as `AskedNotes.first`; `removed` */
  async #firstByReadId(asked: AskedNotes, readId: ReadId): Promise<LoadedPage> {
    const page = await asked.firstByReadId();
    if (page.feed === undefined) await this.refuseRemoved(readId);
    return page;
  }

  #asked(readId: ReadId, request: RequestedPage): AskedNotes {
    return new AskedNotes(this.#parts, readId, request);
  }

  #shown(asked: AskedNotes, page: LoadedPage, attachments: Attachments): Promise<ShownPage> {
    return shownFrom(asked, page, asked.request.limit, attachments);
  }

  #attachments(place: ReadPlace): Attachments {
    return new Attachments(this.#parts, place);
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

  #siteFor(tier: Tier | undefined, visitor: Visitor | undefined): Site {
    return withTier(withVisitor(this.#parts.site, visitor), tier);
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

/** Part of a cache key: pages differ by visitor and tier, and a cached page must not show somebody else's name. */
function siteKey({ tier, visitor }: Site): string {
  return JSON.stringify([tier, visitor]);
}
