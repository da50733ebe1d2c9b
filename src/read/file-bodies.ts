import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AdmittedFeed } from '../feeds/feed.ts';
import type { NoteFile } from '../feeds/names.ts';
import { NOSNIFF } from '../http/answer.ts';
import { type LargeBody, Representation } from '../http/representation.ts';
import { Refusal } from '../refusals.ts';
import type { Storage, StoredFile } from '../storage/storage.ts';
import type { CacheableView } from './cache.ts';
import { noSuchNote } from './note-pages.ts';

/** Versions of files too large to be cached whose hashes are remembered. */
const REMEMBERED_HASHES = 1_000;

/** Bytes that strangers posted: nothing in them may run, load or frame. */
const FIELDS = {
  'Cache-Control': 'public, max-age=300, must-revalidate',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  ...NOSNIFF,
};

/** Builds the representations of notes' files, byte for byte. */
export class FileBodies {
  readonly #storage: Storage;
  readonly #largestKept: number;
  readonly #hashes = new LRUCache<string, string>({ max: REMEMBERED_HASHES });

  /** @param largestKept up to this size a file is read whole and cached, in bytes */
  constructor(storage: Storage, largestKept: number) {
    this.#storage = storage;
    this.#largestKept = largestKept;
  }

  /** @throws Refusal `not_found` when there is no such file */
  async build(feed: AdmittedFeed, file: NoteFile, type: string): Promise<CacheableView> {
    const stored = await this.#open(feed, file);
    try {
      const isKept = stored.size <= this.#largestKept;
      const body = isKept ? await readWhole(stored) : this.#reopened(feed, file, stored);
      const etag =
        stored.sha256 ??
        (body instanceof Uint8Array ? await sha256(body) : await this.#hashOfLarge(feed, file, stored));
      const representation = new Representation({
        body,
        etag,
        changedAt: stored.modifiedAt,
        fields: { 'Content-Type': type === 'text/markdown' ? `${type}; charset=utf-8` : type, ...FIELDS },
        ranges: true,
      });
      return { representation, isCacheable: isKept };
    } finally {
      await stored.close();
    }
  }

  async #open(feed: AdmittedFeed, file: NoteFile): Promise<StoredFile> {
    const stored = await this.#storage.open(feed, file);
    if (stored === undefined) throw noSuchNote();
    return stored;
  }

  /** Opened for each answer, because an answer that is never read would keep its file open. */
  #reopened(feed: AdmittedFeed, file: NoteFile, { size, modifiedAt }: StoredFile): LargeBody {
    const open = () => this.#open(feed, file);
    return {
      size,
      async *read(start, end) {
        const stored = await open();
        try {
          // The ETag has been sent already: abort the answer rather than send other bytes.
          if (stored.size !== size || stored.modifiedAt !== modifiedAt) throw replaced();
          yield* stored.read(start, end);
        } finally {
          await stored.close();
        }
      },
    };
  }

  async #hashOfLarge(feed: AdmittedFeed, file: NoteFile, stored: StoredFile): Promise<string> {
    const key = `${feed.key} ${file} ${stored.size} ${stored.modifiedAt}`;
    let hash = this.#hashes.get(key);
    if (hash === undefined) {
      const running = createHash('sha256');
      for await (const chunk of stored.read(0, stored.size)) running.update(chunk);
      hash = running.digest('base64url');
      this.#hashes.set(key, hash);
    }
    return hash;
  }
}

function replaced(): Refusal {
  const cause = new Error('the file was replaced while it was sent');
  return new Refusal('store_unavailable', 'The note has just been replaced, please try again.', { cause });
}

async function readWhole(stored: StoredFile): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(stored.size);
  let size = 0;
  for await (const chunk of stored.read(0, stored.size)) {
    bytes.set(chunk, size);
    size += chunk.length;
  }
  return bytes.subarray(0, size);
}

/** Off the event loop: WebCrypto hashes on its own threads. */
async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64url');
}
