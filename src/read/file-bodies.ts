import { LRUCache } from 'lru-cache';
import { cacheTag } from '../feeds/cache-tag.ts';
import type { NoteFile, ReadId } from '../feeds/names.ts';
import { NOSNIFF } from '../http/answer.ts';
import { Representation, readFirst } from '../http/representation.ts';
import { existing } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import { hashOfFile } from '../storage/stored-file.ts';
import type { CacheableView } from './cache.ts';
import { expiryField, FILE_TERMS, lifetimeOf } from './lifetime.ts';

/** Versions of files whose hashes the storage does not know, and which are remembered. */
const REMEMBERED_HASHES = 1_000;

/** Bytes that strangers posted: nothing in them may run, load or frame. */
const FIELDS = {
  'Content-Security-Policy': "default-src 'none'; sandbox",
  ...NOSNIFF,
};

/** Builds the representations of notes' files, byte for byte. */
export class FileBodies {
  readonly #storage: Pick<Storage, 'stat'>;
  readonly #largestKept: number;
  readonly #hashes = new LRUCache<string, string>({ max: REMEMBERED_HASHES });

  /** @param largestKept up to this size a file is kept once it was read in whole, bytes */
  constructor(storage: Pick<Storage, 'stat'>, largestKept: number) {
    this.#storage = storage;
    this.#largestKept = largestKept;
  }

  /** @throws Refusal `not_found` when there is no such file */
  async build(readId: ReadId, file: NoteFile, type: string): Promise<CacheableView> {
    const stored = existing(await this.#storage.stat({ readId }, file), 'note');
    const { size, modifiedAt, sha256, expires } = stored;
    const version = `${readId} ${file} ${size} ${modifiedAt}`;
    const known = sha256 ?? this.#hashes.get(version);
    // Bytes that have to be hashed and may be kept are read once.
    const bytes = known === undefined && size <= this.#largestKept && (await readFirst(stored, size));
    const etag = known ?? (await (bytes ? hashOf(bytes) : hashOfFile(stored)));
    if (known === undefined) this.#hashes.set(version, etag);
    const { until, cacheControl } = lifetimeOf([expires], FILE_TERMS);
    const representation = new Representation({
      body: bytes || stored,
      largestKept: this.#largestKept,
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
}

/** Off the event loop: WebCrypto hashes on its own threads. */
async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64url');
}
