import type { ImageKey } from '../feeds/image-keys.ts';
import { Refusal } from '../refusals.ts';
import type { PictureRows } from '../storage/picture-rows.ts';
import type { ImageStore, ListedImage, StoreKind } from './image-store.ts';
import { inParallel } from './in-parallel.ts';

/** Younger unreferenced objects may belong to a post in progress, ms. */
const LEAST_AGE_MS = 3_600_000;
/** Requests to the store at once. */
const AT_ONCE = 16;
const KEYS_AT_ONCE = 1_000;
/** Sorts after every key. */
const LAST = 'g';

/** A number of objects, and their bytes together. */
export interface Amount {
  count: number;
  bytes: number;
}

/** What no note refers to, and what notes lack. */
export interface OrphanReport {
  readonly store: StoreKind;
  /** Objects older than an hour that no note refers to, including the deleted ones. */
  readonly unreferenced: Amount;
  /** Undefined if nothing was to be deleted. */
  readonly deleted: Amount | undefined;
  /** Deletions that failed. */
  readonly failed: number;
  /** Younger objects that no note refers to. */
  readonly tooRecent: number;
  /** Notes without their object. */
  readonly missing: number;
}

export interface OrphanSearchParts {
  readonly rows: PictureRows;
  readonly store: ImageStore;
}

/**
 * Compares the objects of a store with the notes that refer to them, page by page. Changes meanwhile may be counted or not;
 * an object that a note refers to is never deleted.
 * @param deletes whether orphans are deleted
 * @throws Refusal `store_unavailable` with status 502 if the store fails
 */
export async function findOrphans(parts: OrphanSearchParts, deletes: boolean): Promise<OrphanReport> {
  const search = new OrphanSearch(parts, deletes);
  await search.run();
  return search.report;
}

class OrphanSearch {
  readonly #rows: PictureRows;
  readonly #store: ImageStore;
  readonly #deletes: boolean;
  readonly #unreferenced: Amount = { count: 0, bytes: 0 };
  readonly #deleted: Amount = { count: 0, bytes: 0 };
  #failed = 0;
  #tooRecent = 0;
  #missing = 0;

  constructor({ rows, store }: OrphanSearchParts, deletes: boolean) {
    this.#rows = rows;
    this.#store = store;
    this.#deletes = deletes;
  }

  get report(): OrphanReport {
    return {
      store: this.#store.kind,
      unreferenced: this.#unreferenced,
      deleted: this.#deletes ? this.#deleted : undefined,
      failed: this.#failed,
      tooRecent: this.#tooRecent,
      missing: this.#missing,
    };
  }

  async run(): Promise<void> {
    const store = this.#store;
    const old = (await orUnavailable(() => store.now())) - LEAST_AGE_MS;
    let before = '';
    for await (const page of pagesOf(store)) {
      await this.#compare(page, old);
      const last = page.at(-1)?.key;
      if (!store.listsInOrder || last === undefined) continue;
      await this.#countMissing(before, last, new Set(page.map(({ key }) => key)));
      before = last;
    }
    await this.#countMissing(before, LAST, new Set());
  }

  async #compare(page: readonly ListedImage[], old: number): Promise<void> {
    const referenced = new Set(await this.#rows.referenced(page.map(({ key }) => key)));
    const others = page.filter(({ key }) => !referenced.has(key));
    await inParallel(others, AT_ONCE, async ({ key, facts }) => {
      const found = facts ?? (await orUnavailable(() => this.#store.head(key)));
      // It has been removed since the store listed it.
      if (found === undefined) return;
      if (found.modifiedAt > old) {
        this.#tooRecent += 1;
        return;
      }
      add(this.#unreferenced, found.size);
      if (this.#deletes) await this.#delete(key, found.size);
    });
  }

  async #delete(key: ImageKey, size: number): Promise<void> {
    try {
      await this.#store.delete(key);
      add(this.#deleted, size);
    } catch {
      this.#failed += 1;
    }
  }

  /** Looks up each key after `after` and up to `upTo` that the page did not list. */
  async #countMissing(after: string, upTo: string, listed: ReadonlySet<ImageKey>): Promise<void> {
    for (let from = after; ; ) {
      const keys = await this.#rows.keysBetween(from, upTo, KEYS_AT_ONCE);
      const absent: ImageKey[] = [];
      await inParallel(
        keys.filter((key) => !listed.has(key)),
        AT_ONCE,
        async (key) => {
          if ((await orUnavailable(() => this.#store.head(key))) === undefined) absent.push(key);
        },
      );
      // Their notes may have been deleted meanwhile.
      if (absent.length > 0) this.#missing += (await this.#rows.referenced(absent)).length;
      if (keys.length < KEYS_AT_ONCE) return;
      from = keys.at(-1)!;
    }
  }
}

async function* pagesOf(store: ImageStore): AsyncIterable<readonly ListedImage[]> {
  const pages = store.list()[Symbol.asyncIterator]();
  for (
    let next = await orUnavailable(() => pages.next());
    !next.done;
    next = await orUnavailable(() => pages.next())
  )
    yield next.value;
}

/** Turns a failure of a store into one for the operator. */
export async function orUnavailable<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { cause } = error;
    throw new Refusal('store_unavailable', 'The image store does not answer as it should.', {
      cause,
      status: 502,
    });
  }
}

function add(amount: Amount, bytes: number): void {
  amount.count += 1;
  amount.bytes += bytes;
}
