import type { Feed } from '../feeds/feed.ts';
import type { Note } from '../feeds/note.ts';
import type { Storage } from '../storage/storage.ts';
import type { Site } from '../web/site.ts';
import type { Attachments } from './attachments.ts';
import { loadNote } from './note-pages.ts';
import type { RequestedNotes, RequestedPage } from './page-query.ts';
import { PictureSizes } from './picture-sizes.ts';
import { type ShownPage, shownNeighbours } from './shown-pages.ts';
import { type ReadPlace, UNKNOWN_FEED, type ViewFeed } from './views/document.ts';
import type { FeedPageDocument, NotePageDocument } from './views/pages.ts';

interface DocumentParts {
  readonly storage: Storage;
  /** Title of a feed that has none. */
  readonly serviceTitle: string;
  readonly site: Site;
  /** WebSub hubs that are told of changes. */
  readonly hubs: readonly string[];
}

/** Loads the documents of views with rendered notes. */
export class Documents {
  readonly #parts: DocumentParts;
  readonly #sizes: PictureSizes;

  constructor(parts: DocumentParts) {
    this.#parts = parts;
    this.#sizes = new PictureSizes(parts.storage);
  }

  /** What every view of notes says of a feed, which need not exist, and of what is asked for. */
  feedOf(place: ReadPlace, feed: Feed | undefined, { tag, asked }: RequestedNotes) {
    const isSearch = (asked?.q ?? asked?.from ?? asked?.to) !== undefined;
    const hubs = asked === undefined ? this.#parts.hubs : undefined;
    return { ...this.feed(place, feed), tag, search: isSearch ? asked : undefined, hubs };
  }

  /** What every view says of a feed, which need not exist. */
  feed({ base, readId }: ReadPlace, feed: Feed | undefined) {
    const { serviceTitle } = this.#parts;
    return { base, readId, serviceTitle, feed: feed === undefined ? UNKNOWN_FEED : viewFeed(feed) };
  }

  /** @param version the one that the client compares with later ones */
  async feedPage(
    place: ReadPlace,
    { feed, notes, next }: ShownPage,
    query: RequestedPage,
    version: string,
  ): Promise<FeedPageDocument> {
    const isOlder = query.before !== undefined;
    // Hits show their pictures in one size.
    const document = await this.#page(place, feed, notes, query.query === undefined ? notes : []);
    return { ...document, ...this.feedOf(place, feed, query), version, isOlder, next };
  }

  /** @throws Refusal `not_found` */
  async notePage(
    place: ReadPlace,
    feed: Feed | undefined,
    id: string,
    attachments: Attachments,
  ): Promise<NotePageDocument> {
    const { storage } = this.#parts;
    const note = await loadNote(storage, feed, id);
    const neighbours = await shownNeighbours(storage, feed!, note, attachments);
    return { ...(await this.#page(place, feed, [note])), neighbours };
  }

  /** @param sized notes that show their pictures in their sizes */
  async #page(place: ReadPlace, feed: Feed | undefined, notes: readonly Note[], sized = notes) {
    const sizes = feed === undefined ? new Map() : await this.#sizes.find(place, feed, sized);
    return { ...this.feed(place, feed), site: this.#parts.site, notes, sizes };
  }
}

/** What public views may know of a feed: not its name. */
function viewFeed({ title, description, image, showSender, listed, changedAt }: Feed): ViewFeed {
  return { title, description, image, showSender, listed, changedAt };
}
