import { type ImageKey, newImageKey } from '../feeds/image-keys.ts';
import type { FeedName, NoteFile, NoteId, ReadId } from '../feeds/names.ts';
import type { NoteType } from '../feeds/note-types.ts';
import { Refusal } from '../refusals.ts';
import { storeUnavailable } from '../storage/refused-writes.ts';
import type {
  AllowedFeed,
  Feed,
  FeedChange,
  FeedCreation,
  FeedLimits,
  FeedSettings,
  Neighbours,
  NewLicense,
  NewNote,
  Note,
  NoteMeta,
  Page,
  PageQuery,
  Position,
  Replacement,
  Storage,
  StoredFile,
  Target,
} from '../storage/storage.ts';
import { bytesInMemory, type ImageStore, imagesUnavailable } from './image-store.ts';
import type { Sweeper } from './sweeper.ts';

/** How often a picture may be replaced or moved while somebody opens it. */
const MAX_ATTEMPTS = 5;
const NO_BYTES = new Uint8Array();

/** What may be a picture on its way into the storage. */
type Coming = Pick<NewNote, 'type' | 'bytes' | 'sha256' | 'image'>;

/**
 * A database with its pictures in an image store: an object is written before the row that refers to it, and removed
 * after that row is gone (`Sweeper`). Pictures that are in rows, from before there was a store, are read there.
 */
export class ImageStorage implements Storage {
  readonly onHearing?: (listener: (hears: boolean) => void) => void;
  readonly #inner: Storage;
  readonly #store: ImageStore;
  readonly #sweeper: Sweeper;

  constructor(inner: Storage, store: ImageStore, sweeper: Sweeper) {
    this.#inner = inner;
    this.#store = store;
    this.#sweeper = sweeper;
    if (inner.onHearing) this.onHearing = (listener) => inner.onHearing?.(listener);
  }

  feed(name: FeedName): Promise<Feed | undefined> {
    return this.#inner.feed(name);
  }

  feedToPost(name: FeedName): Promise<Feed | undefined> {
    return this.#inner.feedToPost(name);
  }

  feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    return this.#inner.feedByReadId(readId);
  }

  page(name: FeedName, query: PageQuery): Promise<Page> {
    return this.#inner.page(name, query);
  }

  note(name: FeedName, id: NoteId): Promise<Note | undefined> {
    return this.#inner.note(name, id);
  }

  neighbours(name: FeedName, position: Position): Promise<Neighbours> {
    return this.#inner.neighbours(name, position);
  }

  async open(name: FeedName, file: NoteFile): Promise<StoredFile | undefined> {
    const found = await this.#inner.open(name, file);
    return found?.key === undefined ? found : this.#fromStore(name, file, found as KeyedFile);
  }

  post(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    limits: FeedLimits,
  ): Promise<Feed | undefined> {
    return this.#storing(notes, (stored) => this.#inner.post(name, stored, target, limits));
  }

  async replace(
    feed: AllowedFeed,
    id: NoteId,
    replacement: Replacement,
    limits: FeedLimits,
  ): Promise<Note | undefined> {
    const { added = [] } = replacement;
    const coming: readonly Coming[] = [replacement, ...added];
    const replaced = await this.#storing(coming, ([first, ...rest]) =>
      this.#inner.replace(feed, id, { ...replacement, ...first, added: rest as NewNote[] }, limits),
    );
    if (replaced && replaced.type !== 'md') this.#sweeper.wake();
    return replaced;
  }

  setMeta(feed: AllowedFeed, id: NoteId, change: (meta: NoteMeta) => NoteMeta): Promise<Note | undefined> {
    return this.#inner.setMeta(feed, id, change);
  }

  async remove(feed: AllowedFeed, id: NoteId, type?: NoteType): Promise<boolean> {
    const isRemoved = await this.#inner.remove(feed, id, type);
    if (isRemoved) this.#sweeper.wake();
    return isRemoved;
  }

  configure(feed: AllowedFeed, change: (feed: Feed) => FeedSettings): Promise<Feed | undefined> {
    return this.#inner.configure(feed, change);
  }

  setPassword(feed: AllowedFeed, passwordHash: string | undefined): Promise<boolean> {
    return this.#inner.setPassword(feed, passwordHash);
  }

  setLicense(feed: AllowedFeed, license: NewLicense | undefined): Promise<Feed | undefined> {
    return this.#inner.setLicense(feed, license);
  }

  create(name: FeedName, creation: FeedCreation): Promise<Feed | undefined> {
    return this.#inner.create(name, creation);
  }

  /** Its keys are freed bit by bit, as its notes are cleared away. */
  async deleteFeed(feed: AllowedFeed): Promise<boolean> {
    const isDeleted = await this.#inner.deleteFeed(feed);
    if (isDeleted) this.#sweeper.wake();
    return isDeleted;
  }

  useToken(series: string, place: number, until: number): Promise<boolean> {
    return this.#inner.useToken(series, place, until);
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#inner.onChange(listener);
  }

  check(): Promise<void> {
    return this.#inner.check();
  }

  async close(): Promise<void> {
    await this.#sweeper.stop();
    await this.#inner.close();
    this.#store.close();
  }

  /**
   * Puts pictures into the store, then has what refers to them stored; where that is not done, takes them back. Nothing
   * reads the bytes when it settles.
   */
  async #storing<N extends Coming, T>(
    notes: readonly N[],
    store: (notes: readonly N[]) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const keys: ImageKey[] = [];
    const comes = notes.some(({ type }) => type !== 'md');
    if (comes && this.#store.isDown) throw imagesUnavailable(new Error('the image store is down'));
    try {
      const puts = await Promise.allSettled(notes.map((note) => this.#put(note, keys)));
      const stored = puts.map((put) => {
        if (put.status === 'rejected') throw put.reason;
        return put.value;
      });
      const result = await store(stored);
      if (result === undefined) await this.#sweeper.discard(keys, true);
      return result;
    } catch (error) {
      // Where the database could not be reached, it may have stored the notes all the same.
      const isSure = error instanceof Refusal && error.code !== 'store_unavailable';
      await this.#sweeper.discard(keys, isSure);
      throw error;
    }
  }

  async #put<N extends Coming>(note: N, keys: ImageKey[]): Promise<N> {
    const { type, bytes, sha256 } = note;
    if (type === 'md') return note;
    const key = newImageKey();
    keys.push(key);
    await this.#store.put(key, bytesInMemory(bytes, sha256));
    return { ...note, bytes: NO_BYTES, image: { key, size: bytes.byteLength } };
  }

  #fromStore(name: FeedName, file: NoteFile, found: KeyedFile): StoredFile {
    const { size, modifiedAt, sha256, key } = found;
    const read = (start: number, end: number) => this.#read(name, file, { found, start, end });
    return { size, modifiedAt, sha256, key, read, close: () => found.close() };
  }

  /** An object that is gone may be that of a picture which has been moved into its row since it was looked up. */
  async *#read(
    name: FeedName,
    file: NoteFile,
    { found, start, end }: { readonly found: KeyedFile; readonly start: number; readonly end: number },
  ): AsyncIterable<Uint8Array> {
    let current: StoredFile = found;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      let isBegun = false;
      const pieces = current.key ? this.#store.get(current.key, start, end) : current.read(start, end);
      try {
        for await (const piece of pieces) {
          isBegun = true;
          yield piece;
        }
        return;
      } catch (error) {
        if (isBegun || !isGone(error)) throw error;
        const again = await this.#inner.open(name, file);
        if (again === undefined || again.key === current.key) throw error;
        if (again.size !== found.size || again.modifiedAt !== found.modifiedAt) throw replaced();
        current = again;
      }
    }
    throw replaced();
  }
}

/** The bytes are in the store. */
type KeyedFile = StoredFile & { readonly key: ImageKey };

function isGone(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'not_found';
}

function replaced(): Refusal {
  return storeUnavailable(new Error('the picture was replaced while it was read'));
}
