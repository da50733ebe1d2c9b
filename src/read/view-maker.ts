import { hash } from 'node:crypto';
import { cacheTag } from '../feeds/cache-tag.ts';
import type { ReadId } from '../feeds/names.ts';
import { jsonFeedUrl, rssUrl } from '../feeds/urls.ts';
import { jsonLine, NOSNIFF } from '../http/answer.ts';
import { type Coding, Representation } from '../http/representation.ts';
import { PAGE_FIELDS } from '../web/page.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { ASK_EACH_TIME, expiryField } from './lifetime.ts';
import {
  type Composed,
  type ComposeTask,
  compose,
  sendable,
  textLength,
  type ViewTask,
} from './views/compose.ts';

/** Views with at most this much text are composed on the event loop, because the trip to a worker takes longer. */
const INLINE_MAX_TEXT = 64 * 1024;
/** The same for a page, which uses the rendered notes as they are: 1 ms. */
const INLINE_MAX_PAGE = 160 * 1024;

const PRIVATE = { ...NOSNIFF, 'Cache-Control': 'private, no-store' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

const PUBLIC_PAGE = { ...PAGE_FIELDS, ...NOSNIFF };
const NAMED_PAGE = { ...PAGE_FIELDS, ...PRIVATE, ...robotsField(false) };

/** Those without `Cache-Control` are public. */
const FIELDS: Readonly<Record<ComposeTask['view'], Readonly<Record<string, string>>>> = {
  rss: { 'Content-Type': 'application/rss+xml; charset=utf-8', ...NOSNIFF },
  'json-feed': { 'Content-Type': 'application/feed+json', ...NOSNIFF },
  'public-note-list': { ...JSON_TYPE, ...NOSNIFF },
  'public-note': { ...JSON_TYPE, ...NOSNIFF },
  'named-note-list': { ...JSON_TYPE, ...PRIVATE },
  'named-note': { ...JSON_TYPE, ...PRIVATE },
  'read-page': PUBLIC_PAGE,
  'read-note-page': PUBLIC_PAGE,
  'feed-page': NAMED_PAGE,
  'note-page': NAMED_PAGE,
};

/** The addresses that hubs are told when a view changes. A page has the address of its RSS, because hubs distribute no pages. */
const TOPICS = { rss: rssUrl, 'json-feed': jsonFeedUrl, 'read-page': rssUrl } as const;

/** A view to make. */
export interface ViewToMake extends ViewTask {
  /** If it is composed already. Else a compressed form is made as well if it is composed on a thread. */
  readonly composed?: Composed | undefined;
}

interface AboutView {
  readonly changedAt: number | undefined;
  /** `Cache-Control`, if it is public. */
  readonly cacheControl: string;
  /** False if search engines must not list it, whatever the feed says. */
  readonly isIndexed?: boolean;
  /** When the first note of it expires, ms since the epoch. */
  readonly expires?: number | undefined;
  /** `Link` */
  readonly links?: string | undefined;
  /** Without quotes; by default the hash of the bytes. */
  readonly etag?: string | undefined;
}

interface OfFeed {
  readonly readId: ReadId;
}

/** Makes representations of views: bytes, validators, and compressed forms on request. */
export class ViewMaker {
  readonly #pool: WorkerPool;

  constructor(pool: WorkerPool) {
    this.#pool = pool;
  }

  async composed({ task, coding, composed }: ViewToMake, about: AboutView): Promise<Representation> {
    const made = composed ?? (await this.#compose(task, coding));
    const links = hubLinks(task);
    // A hub that is told of a change must not get an older view from a cache in front.
    const cacheControl = links === undefined ? about.cacheControl : ASK_EACH_TIME;
    const { readId } = task.document;
    return this.#represent(made, task.view, { ...about, readId, cacheControl, links });
  }

  /** A JSON value without notes, with the header fields of a view. */
  json(value: unknown, view: 'public-note' | 'named-note', about: AboutView & OfFeed): Representation {
    const bytes = new TextEncoder().encode(jsonLine(value));
    return this.#represent({ bytes, sha256: hash('sha256', bytes, 'base64url') }, view, about);
  }

  #represent(
    { bytes, sha256, encoded }: Composed,
    view: ComposeTask['view'],
    about: AboutView & OfFeed,
  ): Representation {
    const { changedAt, etag = sha256 } = about;
    return new Representation({
      body: bytes,
      etag,
      changedAt,
      fields: fieldsOf(view, about),
      encoded,
      compress: (bytes, coding) => this.#compress(bytes, coding),
    });
  }

  async #compose(task: ComposeTask, coding: Coding | undefined): Promise<Composed> {
    if (textLength(task) <= (isPage(task.view) ? INLINE_MAX_PAGE : INLINE_MAX_TEXT)) return compose(task);
    return (await this.#pool.run('compose', { task: sendable(task), coding })) as Composed;
  }

  async #compress(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
    return (await this.#pool.run('compress', { bytes, coding })) as Uint8Array;
  }
}

/** `Link` for subscribers of WebSub (https://www.w3.org/TR/websub/#discovery); undefined if no hub distributes the view. */
function hubLinks({ view, document }: ComposeTask): string | undefined {
  if (view !== 'rss' && view !== 'json-feed' && view !== 'read-page') return undefined;
  const { base, readId, hubs = [] } = document;
  if (hubs.length === 0) return undefined;
  const links = hubs.map((hub) => `<${hub}>; rel="hub"`);
  return [...links, `<${TOPICS[view](base, readId)}>; rel="self"`].join(', ');
}

/** Asks search engines not to list an answer. */
export function robotsField(isIndexed: boolean): Readonly<Record<string, string>> {
  return isIndexed ? {} : { 'X-Robots-Tag': 'noindex' };
}

function fieldsOf(
  view: ComposeTask['view'],
  { readId, cacheControl, expires, links, isIndexed = true }: AboutView & OfFeed,
) {
  const fields = FIELDS[view];
  const isPublic = fields['Cache-Control'] === undefined;
  return {
    ...fields,
    ...(isPublic && { 'Cache-Control': cacheControl, 'Cache-Tag': cacheTag(readId) }),
    ...(isPage(view) && expiryField(expires)),
    ...robotsField(isIndexed),
    Link: links,
  };
}

function isPage(view: ComposeTask['view']): boolean {
  return FIELDS[view]['Content-Type'] === PAGE_FIELDS['Content-Type'];
}
