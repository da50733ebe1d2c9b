import { LRUCache } from 'lru-cache';
import { cacheTag } from '../feeds/cache-tag.ts';
import type { NoteFile, ReadId } from '../feeds/names.ts';
import { NOSNIFF } from '../http/answer.ts';
import { Representation } from '../http/representation.ts';
import { readFirst, type StoredBody } from '../http/stored-body.ts';
import { existing } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import { hashOfFile } from '../storage/stored-file.ts';
import type { CacheableView } from './cache.ts';
import { expiryField, FILE_TERMS, lifetimeOf } from './lifetime.ts';

/** The most feeds, and files of each feed, whose hashes are remembered because the storage does not know them. */
const [REMEMBERED_FEEDS, REMEMBERED_FILES] = [50, 500];

/** So many files of the largest size that is kept are loaded at once; more are sent piece by piece. */
const LARGEST_AT_ONCE = 4;

/** Bytes that strangers posted: nothing in them may run, load or frame. */
const FIELDS = {
  'Content-Security-Policy': "default-src 'none'; sandbox",
  ...NOSNIFF,
};

/** Builds the representations of notes' files, byte for byte. */
export class FileBodies {
  readonly #storage: Pick<Storage, 'stat'>;
  readonly #largestKept: number;
  /** Bytes of the files that are being loaded. */
  #loading = 0;
  readonly #hashes = new LRUCache<ReadId, LRUCache<string, string>>({ max: REMEMBERED_FEEDS });

  /** @param largestKept up to this size a file is loaded in whole to be kept, bytes */
  constructor(storage: Pick<Storage, 'stat'>, largestKept: number) {
    this.#storage = storage;
    this.#largestKept = largestKept;
  }

  /** Call it when notes of a feed may have been removed: an import can bring a note back with its old date and size, but other bytes. */
  forgetHashes(readId: ReadId): void {
    this.#hashes.delete(readId);
  }

  forgetAllHashes(): void {
    this.#hashes.clear();
  }

  /** @throws Refusal `not_found` when there is no such file */
  async build(readId: ReadId, file: NoteFile, type: string): Promise<CacheableView> {
    // Those of now, because what is hashed below may be forgotten meanwhile.
    const hashes = this.#hashesOf(readId);
    const stored = existing(await this.#storage.stat({ readId }, file), 'note');
    const { size, modifiedAt, sha256, expires } = stored;
    const version = `${file} ${size} ${modifiedAt}`;
    const known = sha256 ?? hashes.get(version);
    // Bytes that have to be hashed and may be kept are read once.
    const bytes = known === undefined ? await this.#load(stored) : undefined;
    const etag = known ?? (await (bytes ? hashOf(bytes) : hashOfFile(stored)));
    if (known === undefined) hashes.set(version, etag);
    const { until, cacheControl } = lifetimeOf([expires], FILE_TERMS);
    const representation = new Representation({
      body: stored,
      loaded: bytes,
      load: (body) => this.#load(body),
      etag,
      changedAt: modifiedAt,
      // Files that are copied by hand, or imported, keep their dates.
      mayGetOlder: true,
      fields: {
        'Content-Type': type === 'text/markdown' ? `${type}; charset=utf-8` : type,
        'Cache-Control': cacheControl,
        'Cache-Tag': cacheTag(readId),
        ...expiryField(expires),
        ...FIELDS,
      },
      ranges: true,
    });
    return { representation, isCacheable: true, until };
  }

  #hashesOf(readId: ReadId): LRUCache<string, string> {
    const known = this.#hashes.get(readId) ?? new LRUCache({ max: REMEMBERED_FILES });
    this.#hashes.set(readId, known);
    return known;
  }

  /** The bytes of a file; undefined if it is too large to be kept, or if too many bytes are being loaded already. */
  #load(stored: StoredBody): Promise<Uint8Array<ArrayBuffer>> | undefined {
    const { size } = stored;
    if (size > this.#largestKept || this.#loading + size > LARGEST_AT_ONCE * this.#largestKept)
      return undefined;
    this.#loading += size;
    return readFirst(stored, size).finally(() => {
      this.#loading -= size;
    });
  }
}

/** Off the event loop: WebCrypto hashes on its own threads. */
async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64url');
}
