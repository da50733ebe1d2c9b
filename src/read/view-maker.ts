import { hash } from 'node:crypto';
import { NOSNIFF } from '../http/answer.ts';
import type { Coding } from '../http/representation.ts';
import { Representation } from '../http/representation.ts';
import { PAGE_FIELDS } from '../web/page.ts';
import type { WorkerPool } from '../worker-pool.ts';
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

/** For how long others may keep a public view, seconds. */
export const VIEW_MAX_AGE = 60;
const PUBLIC = { ...NOSNIFF, 'Cache-Control': `public, max-age=${VIEW_MAX_AGE}` };
const MUST_REVALIDATE = { 'Cache-Control': 'public, max-age=0, must-revalidate' };
const PRIVATE = { ...NOSNIFF, 'Cache-Control': 'private, no-store' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

const PUBLIC_PAGE = { ...PAGE_FIELDS, ...PUBLIC };
const NAMED_PAGE = { ...PAGE_FIELDS, ...PRIVATE, 'X-Robots-Tag': 'noindex' };

const FIELDS: Readonly<Record<ComposeTask['view'], Readonly<Record<string, string>>>> = {
  rss: { 'Content-Type': 'application/rss+xml; charset=utf-8', ...PUBLIC },
  'json-feed': { 'Content-Type': 'application/feed+json', ...PUBLIC },
  'public-note-list': { ...JSON_TYPE, ...PUBLIC },
  'public-note': { ...JSON_TYPE, ...PUBLIC },
  'named-note-list': { ...JSON_TYPE, ...PRIVATE },
  'named-note': { ...JSON_TYPE, ...PRIVATE },
  'read-page': PUBLIC_PAGE,
  'read-note-page': PUBLIC_PAGE,
  'feed-page': NAMED_PAGE,
  'note-page': NAMED_PAGE,
};

/** A view to make. */
export interface ViewToMake extends ViewTask {
  /** If it is composed already. Else a compressed form is made as well if it is composed on a thread. */
  readonly composed?: Composed | undefined;
}

interface AboutView {
  readonly changedAt: number | undefined;
  /** Whether others must ask each time before they use it, if it is public. */
  readonly mustRevalidate?: boolean;
  /** Without quotes; by default the hash of the bytes. */
  readonly etag?: string | undefined;
}

/** Makes representations of views: bytes, validators, and compressed forms on request. */
export class ViewMaker {
  readonly #pool: WorkerPool;

  constructor(pool: WorkerPool) {
    this.#pool = pool;
  }

  async composed({ task, coding, composed }: ViewToMake, about: AboutView): Promise<Representation> {
    const fields = FIELDS[task.view];
    const isBrief = about.mustRevalidate === true && fields['Cache-Control'] === PUBLIC['Cache-Control'];
    const made = composed ?? (await this.#compose(task, coding));
    return this.#represent(made, isBrief ? { ...fields, ...MUST_REVALIDATE } : fields, about);
  }

  /** A public JSON value. */
  json(value: unknown, changedAt: number | undefined): Representation {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const sha256 = hash('sha256', bytes, 'base64url');
    return this.#represent({ bytes, sha256 }, FIELDS['public-note'], { changedAt });
  }

  #represent(
    { bytes, sha256, encoded }: Composed,
    fields: Readonly<Record<string, string>>,
    { changedAt, etag = sha256 }: AboutView,
  ): Representation {
    return new Representation({
      body: bytes,
      etag,
      changedAt,
      fields,
      encoded,
      compress: (bytes, coding) => this.#compress(bytes, coding),
    });
  }

  async #compose(task: ComposeTask, coding: Coding | undefined): Promise<Composed> {
    const isPage = FIELDS[task.view]['Content-Type'] === PAGE_FIELDS['Content-Type'];
    if (textLength(task) <= (isPage ? INLINE_MAX_PAGE : INLINE_MAX_TEXT)) return compose(task);
    return (await this.#pool.run('compose', { task: sendable(task), coding })) as Composed;
  }

  async #compress(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
    return (await this.#pool.run('compress', { bytes, coding })) as Uint8Array;
  }
}
