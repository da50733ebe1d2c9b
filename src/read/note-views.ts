import type { Feed } from '../feeds/feed.ts';
import { type Preconditions, preferredCoding } from '../http/representation.ts';
import type { AskedNotes } from './asked-notes.ts';
import type { Attachments } from './attachments.ts';
import type { CacheableView, KnownBases } from './cache.ts';
import { firstExpiry, lifetimeOf, VIEW_TERMS } from './lifetime.ts';
import type { Renderer } from './renderer.ts';
import type { ViewMaker, ViewToMake } from './view-maker.ts';
import { type FeedTask, type JsonTask, withNotes } from './views/compose.ts';
import type { TitledNote, ViewNote } from './views/document.ts';

/** What a view depends on besides its notes. */
interface ViewBasis {
  readonly feed: Feed | undefined;
  readonly attachments: Attachments;
  /** Those of its notes; undefined for a view of one note. */
  readonly asked?: AskedNotes;
  /** The ETag of the view; the hash of its bytes unless given. */
  readonly etag?: string;
  /** The first moment at which something else than its notes that it names expires, ms since the epoch. */
  readonly expires?: number;
}

interface NoteViewsParts {
  readonly renderer: Pick<Renderer, 'render' | 'titled'>;
  readonly views: ViewMaker;
  readonly bases: KnownBases;
}

/** Makes the views of notes, and says how long each may be kept. */
export class NoteViews {
  readonly #parts: NoteViewsParts;

  constructor(parts: NoteViewsParts) {
    this.#parts = parts;
  }

  /** A view that shows its notes, or what a search has found in them. */
  async rendered(request: Preconditions, asked: FeedTask, basis: ViewBasis): Promise<CacheableView> {
    const coding = preferredCoding(request.header('accept-encoding'));
    if (isPageOfHits(asked)) {
      const { notes, readId } = asked.document;
      const { notes: titled, isComplete } = await this.#parts.renderer.titled<ViewNote>(notes, readId);
      return this.#view({ task: withNotes(asked, titled.map(withTitleAlone)), coding }, basis, isComplete);
    }
    const { task, composed, isComplete } = await this.#parts.renderer.render(asked, coding);
    return this.#view({ task, coding, composed }, basis, isComplete);
  }

  /** A view with the titles of its notes. */
  async json(request: Preconditions, asked: JsonTask, basis: ViewBasis): Promise<CacheableView> {
    const { notes, readId } = asked.document;
    const { notes: titled, isComplete } = await this.#parts.renderer.titled(notes, readId);
    const coding = preferredCoding(request.header('accept-encoding'));
    return this.#view({ task: withNotes(asked, titled), coding }, basis, isComplete);
  }

  /** @param isComplete whether all its texts are rendered, as far as they can be */
  async #view(
    view: ViewToMake,
    { feed, attachments, asked, etag, expires }: ViewBasis,
    isComplete: boolean,
  ): Promise<CacheableView> {
    const { views, bases } = this.#parts;
    const { notes, base } = view.task.document;
    const expiries = [...notes, ...attachments.basis].map(({ meta }) => meta.expires);
    const isCurrent = asked?.isCurrent ?? true;
    const { until, cacheControl } = lifetimeOf([...expiries, expires], VIEW_TERMS, isCurrent);
    const isWhole = isComplete && attachments.isComplete;
    const representation = await views.composed(view, {
      // None if it may change without the feed: notes expire, are rendered or get into the index later.
      changedAt: isWhole && until === undefined ? changedAt(feed) : undefined,
      cacheControl,
      etag,
      expires: firstExpiry(expiries),
      isIndexed: asked?.isOfAll ?? true,
    });
    // A view may show no note although the feed has some. It is cached, because making it takes many reads.
    const hasNotes = notes.length > 0 || (asked?.isOfAll === true && changedAt(feed) !== undefined);
    const isGuest = hasNotes && (asked?.isMadeUp || !bases.admit(base));
    // Later pages are not kept: strangers can make up any number of cursors, and few clients ask for them.
    const isFirst = asked?.isFirst ?? true;
    const isKept = isFirst && isWhole && hasNotes;
    return { representation, isCacheable: isKept, isGuest, until };
  }
}

const NOT_RENDERED = { html: '', htmlLength: 0, excerpt: '', pictures: [] };

/** Pages of what a search has found show titles and pieces, so their texts need not be rendered. */
function isPageOfHits({ view, document }: FeedTask): boolean {
  return (view === 'read-page' || view === 'feed-page') && document.search?.q !== undefined;
}

function withTitleAlone(note: TitledNote): ViewNote {
  if (note.content === undefined) return { ...note, rendered: undefined };
  return { ...note, rendered: { ...NOT_RENDERED, title: note.rendered?.title ?? '' } };
}

/** An empty feed has no date: it must look like a read id that nobody has. */
export function changedAt(feed: Feed | undefined): number | undefined {
  return feed === undefined || feed.noteCount === 0 ? undefined : feed.changedAt;
}
