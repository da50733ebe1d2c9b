import type { Feed, FeedSettings } from '../../src/feeds/feed.ts';
import type { FeedName, NoteFile, NoteId } from '../../src/feeds/names.ts';
import type { NewNote, NoteMeta } from '../../src/feeds/note.ts';
import type { Position } from '../../src/feeds/order.ts';
import type {
  FeedCreation,
  FeedLimits,
  NewLicense,
  PageQuery,
  Replacement,
  Storage,
  Target,
} from '../../src/storage/storage.ts';

export const NO_LIMITS: FeedLimits = { notes: 0, images: 0 };
/** A feed that exists and has no password. */
export const OPEN = { kind: 'existing', passwordHash: undefined } satisfies Target;
/** A feed to be made, without a password and with a random read id. */
export const NEW: Extract<Target, { kind: 'new' }> = {
  kind: 'new',
  readId: undefined,
  passwordHash: undefined,
};

/** Stores notes as the service does: in the feed as it is found, or in a new one. */
export async function post(
  storage: Storage,
  name: FeedName,
  notes: NewNote | readonly NewNote[],
  creation: Partial<FeedCreation> = {},
): Promise<Feed> {
  const all = 'id' in notes ? [notes] : notes;
  for (;;) {
    const feed = await storage.feed(name);
    const target: Target = feed
      ? { kind: 'existing', passwordHash: feed.passwordHash }
      : { kind: 'new', readId: undefined, passwordHash: undefined, ...creation };
    const stored = await storage.post(name, all, target, NO_LIMITS);
    if (stored) return stored;
  }
}

/** Reads by name: of whatever feed has it now. */
export function reads(storage: Storage) {
  const admitted = async (name: FeedName) => (await storage.feed(name)) ?? { name, key: '0' };
  return {
    page: async (name: FeedName, query: PageQuery) => storage.page(await admitted(name), query),
    note: async (name: FeedName, id: NoteId) => storage.note(await admitted(name), id),
    neighbours: async (name: FeedName, position: Position) =>
      storage.neighbours(await admitted(name), position),
    open: async (name: FeedName, file: NoteFile) => storage.open(await admitted(name), file),
  };
}

/** Changes by name: of whatever feed has it now. */
export function edits(storage: Storage) {
  return {
    replace: async (
      name: FeedName,
      id: NoteId,
      bytes: Uint8Array,
      more: Omit<Replacement, 'bytes' | 'type'> = {},
      limits = NO_LIMITS,
    ) => {
      const feed = await storage.feed(name);
      const note = feed && (await storage.note(feed, id));
      return feed && storage.replace(feed, id, { type: note?.type ?? 'md', bytes, ...more }, limits);
    },
    setMeta: async (name: FeedName, id: NoteId, change: (meta: NoteMeta) => NoteMeta) => {
      const feed = await storage.feed(name);
      return feed && storage.setMeta(feed, id, change);
    },
    remove: async (name: FeedName, id: NoteId) => {
      const feed = await storage.feed(name);
      return feed !== undefined && storage.remove(feed, id);
    },
    configure: async (name: FeedName, change: (feed: Feed) => FeedSettings) => {
      const feed = await storage.feed(name);
      return feed && storage.configure(feed, change);
    },
    setPassword: async (name: FeedName, passwordHash: string | undefined) => {
      const feed = await storage.feed(name);
      return feed !== undefined && storage.setPassword(feed, passwordHash);
    },
    setLicense: async (name: FeedName, license: NewLicense | undefined) => {
      const feed = await storage.feed(name);
      return feed && storage.setLicense(feed, license);
    },
    deleteFeed: async (name: FeedName) => {
      const feed = await storage.feed(name);
      return feed !== undefined && storage.deleteFeed(feed);
    },
  };
}
