import type { ImageKey } from '../feeds/ids.ts';
import { onRefusal, Refusal } from '../refusals.ts';
import type { PictureRows } from '../storage/picture-rows.ts';
import { type ImageStore, inParallel, type ListedImage, type StoreKind } from './image-store.ts';

/** Younger unreferenced objects may belong to a post in progress, ms. */
const MIN_AGE_MS = 3_600_000;
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
  failed: number;
  /** Younger objects that no note refers to. */
  tooRecent: number;
  /** Notes without their object. */
  missing: number;
}

interface OrphanSearch {
  readonly rows: PictureRows;
  readonly store: ImageStore;
  readonly report: OrphanReport;
}

/**
 * Compares the objects of a store with the notes that refer to them, page by page. Changes meanwhile may be counted or not;
 * an object that a note refers to is never deleted.
 * @param deletes whether orphans are deleted
 * @throws Refusal `store_unavailable` with status 502 if the store fails
 */
export async function findOrphans(
  { rows, store }: Pick<OrphanSearch, 'rows' | 'store'>,
  deletes: boolean,
): Promise<OrphanReport> {
  const unreferenced = { count: 0, bytes: 0 };
  const deleted = deletes ? { count: 0, bytes: 0 } : undefined;
  const report = { store: store.kind, unreferenced, deleted, failed: 0, tooRecent: 0, missing: 0 };
  const search = { rows, store, report };
  const old = (await orUnavailable(() => store.now())) - MIN_AGE_MS;
  let before = '';
  for await (const page of pagesOf(store)) {
    await compare(search, page, old);
    const last = page.at(-1)?.key;
    if (!store.listsInOrder || last === undefined) continue;
    await countMissing(search, before, last, page);
    before = last;
  }
  await countMissing(search, before, LAST, []);
  return report;
}

async function compare(
  { rows, store, report }: OrphanSearch,
  page: readonly ListedImage[],
  old: number,
): Promise<void> {
  const referenced = new Set(await rows.referenced(page.map(({ key }) => key)));
  const others = page.filter(({ key }) => !referenced.has(key));
  await inParallel(others, AT_ONCE, async ({ key, facts }) => {
    const found = facts ?? (await orUnavailable(() => store.head(key)));
    // It has been removed since the store listed it.
    if (found === undefined) return;
    if (found.modifiedAt > old) {
      report.tooRecent += 1;
      return;
    }
    countObject(report.unreferenced, found.size);
    if (report.deleted === undefined) return;
    try {
      await store.delete(key);
      countObject(report.deleted, found.size);
    } catch {
      report.failed += 1;
    }
  });
}

/** Looks up each key after `after` and up to `upTo` that the page did not list. */
async function countMissing(
  { rows, store, report }: OrphanSearch,
  after: string,
  upTo: string,
  page: readonly ListedImage[],
): Promise<void> {
  const listed = new Set(page.map(({ key }) => key));
  for (let from = after; ; ) {
    const keys = await rows.keysBetween(from, upTo, KEYS_AT_ONCE);
    const others = keys.filter((key) => !listed.has(key));
    const absent: ImageKey[] = [];
    await inParallel(others, AT_ONCE, async (key) => {
      if ((await orUnavailable(() => store.head(key))) === undefined) absent.push(key);
    });
    // Their notes may have been deleted meanwhile.
    if (absent.length > 0) report.missing += (await rows.referenced(absent)).length;
    if (keys.length < KEYS_AT_ONCE) return;
    from = keys.at(-1)!;
  }
}

async function* pagesOf(store: ImageStore): AsyncIterable<readonly ListedImage[]> {
  const pages = store.list()[Symbol.asyncIterator]();
  const nextPage = () => orUnavailable(() => pages.next());
  for (let next = await nextPage(); !next.done; next = await nextPage()) yield next.value;
}

/** Turns a failure of a store into one for the operator. */
export function orUnavailable<T>(question: () => Promise<T>): Promise<T> {
  return onRefusal(question, ({ cause }) => {
    const sentence = 'The image store does not answer as it should.';
    throw new Refusal('store_unavailable', sentence, { cause, status: 502 });
  });
}

/** Counts one object more. */
export function countObject(amount: Amount, bytes: number): void {
  amount.count += 1;
  amount.bytes += bytes;
}
