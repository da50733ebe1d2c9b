import type { Feed } from '../feeds/feed.ts';
import type { Note } from '../feeds/note.ts';
import type { Storage } from '../storage/storage.ts';
import type { Site } from '../web/site.ts';
import { type LoadedPage, loadNote, positionOf } from './note-pages.ts';
import type { RequestedPage } from './page-query.ts';
import { PictureSizes } from './picture-sizes.ts';
import { type ReadPlace, UNKNOWN_FEED, type ViewFeed } from './views/document.ts';
import type { FeedPageDocument, NotePageDocument } from './views/pages.ts';

interface DocumentParts {
  readonly storage: Storage;
  /** Title of a feed that has none. */
  readonly serviceTitle: string;
  readonly site: Site;
}

/** Loads the documents of views with rendered notes. */
export class Documents {
  readonly #parts: DocumentParts;
  readonly #sizes: PictureSizes;

  constructor(parts: DocumentParts) {
    this.#parts = parts;
    this.#sizes = new PictureSizes(parts.storage);
  }

  /** What every view says of a feed, which need not exist. */
  feed({ base, readId }: ReadPlace, feed: Feed | undefined) {
    const { serviceTitle } = this.#parts;
    return { base, readId, serviceTitle, feed: feed === undefined ? UNKNOWN_FEED : viewFeed(feed) };
  }

  /** @param version the one that the client compares with later ones */
  async feedPage(
    place: ReadPlace,
    { feed, notes, next }: LoadedPage,
    query: RequestedPage,
    version: string,
  ): Promise<FeedPageDocument> {
    const isOlder = query.before !== undefined;
    return { ...(await this.#page(place, feed, notes)), tag: query.tag, version, isOlder, next };
  }

  /** @throws Refusal `not_found` */
  async notePage(place: ReadPlace, feed: Feed | undefined, id: string): Promise<NotePageDocument> {
    const { storage } = this.#parts;
    const note = await loadNote(storage, feed, id);
    const neighbours = await storage.neighbours(feed!, positionOf(note));
    return { ...(await this.#page(place, feed, [note])), neighbours };
  }

  async #page(place: ReadPlace, feed: Feed | undefined, notes: readonly Note[]) {
    const sizes = feed === undefined ? new Map() : await this.#sizes.find(place, feed, notes);
    return { ...this.feed(place, feed), site: this.#parts.site, notes, sizes };
  }
}

/** What public views may know of a feed: not its name. */
function viewFeed({ title, description, image, showSender, changedAt }: Feed): ViewFeed {
  return { title, description, image, showSender, changedAt };
}
