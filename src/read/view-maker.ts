import { createHash } from 'node:crypto';
import { NOSNIFF } from '../http/answer.ts';
import type { Coding } from '../http/representation.ts';
import { Representation } from '../http/representation.ts';
import { PAGE_FIELDS } from '../web/page.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { htmlLength } from './note-text.ts';
import { type Composed, type ComposeTask, compose, sendable } from './views/compose.ts';
import type { TitledNote, ViewNote } from './views/document.ts';

/** Views with at most this much text are composed on the event loop, because the trip to a worker takes longer. */
const INLINE_MAX_BYTES = 64 * 1024;
/** The same for a page, which uses the rendered notes as they are: 1 ms. */
const INLINE_MAX_PAGE = 128 * 1024;

const PUBLIC = 'public, max-age=60';
const PRIVATE = 'private, no-store';

const PUBLIC_PAGE = { ...PAGE_FIELDS, 'Cache-Control': PUBLIC };
const NAMED_PAGE = { ...PAGE_FIELDS, 'Cache-Control': PRIVATE, 'X-Robots-Tag': 'noindex' };

const FIELDS: Readonly<Record<ComposeTask['view'], Readonly<Record<string, string>>>> = {
  rss: { 'Content-Type': 'application/rss+xml; charset=utf-8', 'Cache-Control': PUBLIC },
  'json-feed': { 'Content-Type': 'application/feed+json', 'Cache-Control': PUBLIC },
  'public-note-list': { 'Content-Type': 'application/json', 'Cache-Control': PUBLIC },
  'public-note': { 'Content-Type': 'application/json', 'Cache-Control': PUBLIC },
  'named-note-list': { 'Content-Type': 'application/json', 'Cache-Control': PRIVATE },
  'named-note': { 'Content-Type': 'application/json', 'Cache-Control': PRIVATE },
  'read-page': PUBLIC_PAGE,
  'read-note-page': PUBLIC_PAGE,
  'feed-page': NAMED_PAGE,
  'note-page': NAMED_PAGE,
};

/** Makes representations of views: bytes, validators, and compressed forms on request. */
export class ViewMaker {
  readonly #pool: WorkerPool;

  constructor(pool: WorkerPool) {
    this.#pool = pool;
  }

  async composed(task: ComposeTask, changedAt: number | undefined): Promise<Representation> {
    const { bytes, sha256 } = await this.#compose(task);
    return this.#represent(bytes, sha256, FIELDS[task.view], changedAt);
  }

  /** A public JSON value. */
  json(value: unknown, changedAt: number | undefined): Representation {
    const bytes = Buffer.from(JSON.stringify(value));
    const sha256 = createHash('sha256').update(bytes).digest('base64url');
    return this.#represent(bytes, sha256, FIELDS['public-note'], changedAt);
  }

  #represent(
    body: Uint8Array,
    etag: string,
    fields: Readonly<Record<string, string>>,
    changedAt: number | undefined,
  ): Representation {
    return new Representation({
      body,
      etag,
      changedAt,
      fields: { ...fields, ...NOSNIFF },
      compress: (bytes, coding) => this.#compress(bytes, coding),
    });
  }

  async #compose(task: ComposeTask): Promise<Composed> {
    if (isShort(task)) return compose(task);
    return (await this.#pool.run('compose', sendable(task))) as Composed;
  }

  async #compress(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
    return (await this.#pool.run('compress', { bytes, coding })) as Uint8Array;
  }
}

function isShort({ view, document: { notes } }: ComposeTask): boolean {
  const isPage = FIELDS[view]['Content-Type'] === PAGE_FIELDS['Content-Type'];
  let size = 0;
  for (const { content, rendered } of notes as readonly (ViewNote | TitledNote)[])
    size +=
      (rendered && 'html' in rendered ? htmlLength(rendered) : 0) + (isPage ? 0 : (content?.length ?? 0));
  return size <= (isPage ? INLINE_MAX_PAGE : INLINE_MAX_BYTES);
}
