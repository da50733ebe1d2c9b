import type { ImageKey } from '../feeds/ids.ts';
import { Refusal } from '../refusals.ts';

const PIECE_BYTES = 256 * 1024;

/** Where pictures can be beside the database. */
export type StoreKind = 'fs' | 's3';

/** Bytes to be stored; they can be read several times, until the storing settles. Pieces stay as they are until then. */
export interface ImageBytes {
  readonly size: number;
  /** SHA-256 in base64url, where it is known: what arrives is compared with it where the store can. */
  readonly sha256: string | undefined;
  /** All of them, in pieces of bounded size. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** A store's facts about an object. */
export interface ImageFacts {
  readonly size: number;
  /** By the clock of the store, ms since the epoch. */
  readonly modifiedAt: number;
}

/** An object in a list, with its facts if the list has them anyway. */
export interface ListedImage {
  readonly key: ImageKey;
  readonly facts: ImageFacts | undefined;
}

/**
 * Keeps the bytes of pictures under keys. What is stored under a key never changes. Failures of the medium are thrown as
 * `Refusal` (`storage_full`, `store_unavailable`) whose causes name no key, path, address or bucket.
 */
export interface ImageStore {
  readonly kind: StoreKind;
  /** The store is known to be down, so every call fails at once. */
  readonly isDown: boolean;
  /** Pages come in the order of their keys, so what is between two keys of a page and not in it is absent. */
  readonly listsInOrder: boolean;
  /** Stores bytes under a key; durable when it settles. Two calls at once with the same bytes have the effect of one. */
  put(key: ImageKey, bytes: ImageBytes): Promise<void>;
  /**
   * Bytes `start` (inclusive) to `end` (exclusive). Nothing is asked of the store before the first piece is read. The
   * memory of a piece is used again once the next is asked for.
   * @throws Refusal `not_found` while reading, when there is no such object
   */
  get(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array>;
  /** Undefined when there is no such object. */
  head(key: ImageKey): Promise<ImageFacts | undefined>;
  /** Removes an object for good. False when there is none. */
  delete(key: ImageKey): Promise<boolean>;
  /** All objects that are named by a key, in pages of bounded size. */
  list(): AsyncIterable<readonly ListedImage[]>;
  /** The time by the clock that dates objects, ms since the epoch. */
  now(): Promise<number>;
  /** Closes all connections. */
  close(): void;
}

/** The store cannot be used. The cause must name no key, path, address or bucket. */
export function imagesUnavailable(cause: unknown): Refusal {
  return new Refusal('store_unavailable', 'The store of the pictures cannot be used at the moment.', {
    cause,
  });
}

/** The object of a picture is not in its store. */
export function imageGone(): Refusal {
  return new Refusal('not_found', 'The picture is gone from its store.');
}

/** Bytes in memory, to be stored. */
export function bytesInMemory(bytes: Uint8Array, sha256: string | undefined): ImageBytes {
  return {
    size: bytes.byteLength,
    sha256,
    async *pieces() {
      for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
    },
  };
}

/** Hears of every call: its operation, its duration in ms, and the code of its failure. */
type StoreObserver = (operation: string, ms: number, failure: string | undefined) => void;

/** Wraps a store with metrics. Reads are timed to the first byte. */
export function withMetrics(store: ImageStore, observe: StoreObserver): ImageStore {
  const timed = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const begunAt = performance.now();
    try {
      const result = await work();
      observe(operation, performance.now() - begunAt, undefined);
      return result;
    } catch (error) {
      observe(operation, performance.now() - begunAt, error instanceof Refusal ? error.code : 'internal');
      throw error;
    }
  };
  return {
    kind: store.kind,
    listsInOrder: store.listsInOrder,
    get isDown() {
      return store.isDown;
    },
    put: (key, bytes) => timed('put', () => store.put(key, bytes)),
    async *get(key, start, end) {
      const pieces = store.get(key, start, end)[Symbol.asyncIterator]();
      try {
        for (let next = await timed('get', () => pieces.next()); !next.done; next = await pieces.next())
          yield next.value;
      } finally {
        await pieces.return?.();
      }
    },
    head: (key) => timed('head', () => store.head(key)),
    delete: (key) => timed('delete', () => store.delete(key)),
    list: () => store.list(),
    now: () => timed('now', () => store.now()),
    close: () => store.close(),
  };
}

/** Runs a task for each item, a bounded number at once. After the first failure no further task begins. */
export async function inParallel<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const rest = all[Symbol.iterator]();
  const runners = Array.from({ length: Math.min(atOnce, all.length) }, async () => {
    for (const one of rest) await work(one);
  });
  const ended = await Promise.allSettled(runners);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}
