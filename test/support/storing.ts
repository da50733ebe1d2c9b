import type { Feed, FeedSettings } from '../../src/feeds/feed.ts';
import { randomReadId } from '../../src/feeds/ids.ts';
import type { FeedName, NoteFile, NoteId } from '../../src/feeds/names.ts';
import type { NewNote, NoteContent } from '../../src/feeds/note.ts';
import type { NoteType } from '../../src/feeds/note-types.ts';
import type { Position } from '../../src/feeds/order.ts';
import type { PageQuery, Storage } from '../../src/storage/storage.ts';
import {
  type Describe,
  type ExistingFeed,
  type NewFeed,
  type NewLicense,
  type Post,
  toFeed,
} from '../../src/writing/command.ts';
import { type FeedLimits, NO_LIMITS } from '../../src/writing/limits.ts';

export { NO_LIMITS };
/** A feed that exists and has no password. */
export const OPEN = { kind: 'existing', passwordHash: undefined } satisfies Post['target'];
/** A feed to be made, without a password and with a random read id. */
export const NEW: { readonly kind: 'new'; readonly passwordHash: undefined } = {
  kind: 'new',
  passwordHash: undefined,
};

type WantedFeed = Omit<NewFeed, 'readId'> & { readonly readId?: NewFeed['readId'] };
/** The feed that notes are for. */
export type WantedTarget = ExistingFeed | WantedFeed;
type AllowedFeed = Parameters<typeof toFeed>[0];

/** The commands of a storage, as functions. */
export function writes(storage: Pick<Storage, 'write'>) {
  const post = async (
    name: FeedName,
    notes: readonly NewNote[],
    wanted: WantedTarget,
    limits: FeedLimits = NO_LIMITS,
  ) => {
    const target = wanted.kind === 'new' ? { readId: randomReadId(), ...wanted } : wanted;
    return (await storage.write({ kind: 'post', name, target, notes, limits }))?.feed;
  };
  return {
    post,
    create: (name: FeedName, creation: Omit<WantedFeed, 'kind'>) =>
      post(name, [], { ...creation, kind: 'new' }),
    replace: async (
      feed: AllowedFeed,
      id: NoteId,
      content: NoteContent,
      limits = NO_LIMITS,
      notes: readonly NewNote[] = [],
    ) => (await storage.write({ kind: 'replace', ...toFeed(feed), id, content, notes, limits }))?.note,
    describe: async (feed: AllowedFeed, id: NoteId, meta: Describe['meta']) =>
      (await storage.write({ kind: 'describe', ...toFeed(feed), id, meta }))?.note,
    remove: async (feed: AllowedFeed, id: NoteId, type?: NoteType) =>
      (await storage.write({ kind: 'remove', ...toFeed(feed), id, type }))?.note !== undefined,
    configure: async (feed: AllowedFeed, settings: Partial<FeedSettings>) =>
      (await storage.write({ kind: 'configure', ...toFeed(feed), settings }))?.feed,
    setPassword: async (feed: AllowedFeed, passwordHash: string | undefined) =>
      (await storage.write({ kind: 'set password', ...toFeed(feed), passwordHash })) !== undefined,
    setLicense: async (feed: AllowedFeed, license: NewLicense | undefined) =>
      (await storage.write({ kind: 'set license', ...toFeed(feed), license }))?.feed,
    deleteFeed: async (feed: AllowedFeed) =>
      (await storage.write({ kind: 'delete', ...toFeed(feed) })) !== undefined,
  };
}

/** Stores notes as the service does: in the feed as it is found, or in a new one. */
export async function post(
  storage: Storage,
  name: FeedName,
  notes: NewNote | readonly NewNote[],
  creation: Partial<WantedFeed> = {},
): Promise<Feed> {
  const all = 'id' in notes ? [notes] : notes;
  for (;;) {
    const feed = await storage.feed(name);
    const stored = await writes(storage).post(
      name,
      all,
      feed ? { kind: 'existing', passwordHash: feed.passwordHash } : { ...NEW, ...creation },
    );
    if (stored) return stored;
  }
}

/** Reads by name: of whatever feed has it now. */
export function reads(storage: Storage) {
  const admitted = async (name: FeedName) => (await storage.feed(name)) ?? { name, key: '0' };
  return {
    page: async (name: FeedName, query: PageQuery) => storage.page(await admitted(name), query),
    note: async (name: FeedName, id: NoteId) => storage.note(await admitted(name), id),
    neighbours: async (name: FeedName, position: Position) => {
      const { older, newer } = await storage.neighbours(await admitted(name), position);
      return { older, newer };
    },
    tags: async (name: FeedName, prefix = '') => storage.tags(await admitted(name), prefix),
    stat: async (name: FeedName, file: NoteFile) => storage.stat(await admitted(name), file),
  };
}

/** Changes by name: of whatever feed has it now. */
export function edits(storage: Storage) {
  const all = writes(storage);
  return {
    replace: async (
      name: FeedName,
      id: NoteId,
      bytes: Uint8Array,
      { added, ...more }: Omit<NoteContent, 'bytes' | 'type'> & { added?: readonly NewNote[] } = {},
      limits = NO_LIMITS,
    ) => {
      const feed = await storage.feed(name);
      const note = feed && (await storage.note(feed, id));
      return feed && all.replace(feed, id, { type: note?.type ?? 'md', bytes, ...more }, limits, added);
    },
    describe: async (name: FeedName, id: NoteId, meta: Describe['meta']) => {
      const feed = await storage.feed(name);
      return feed && all.describe(feed, id, meta);
    },
    remove: async (name: FeedName, id: NoteId) => {
      const feed = await storage.feed(name);
      return feed !== undefined && all.remove(feed, id);
    },
    configure: async (name: FeedName, settings: Partial<FeedSettings>) => {
      const feed = await storage.feed(name);
      return feed && all.configure(feed, settings);
    },
    setPassword: async (name: FeedName, passwordHash: string | undefined) => {
      const feed = await storage.feed(name);
      return feed !== undefined && all.setPassword(feed, passwordHash);
    },
    setLicense: async (name: FeedName, license: NewLicense | undefined) => {
      const feed = await storage.feed(name);
      return feed && all.setLicense(feed, license);
    },
    deleteFeed: async (name: FeedName) => {
      const feed = await storage.feed(name);
      return feed !== undefined && all.deleteFeed(feed);
    },
  };
}
