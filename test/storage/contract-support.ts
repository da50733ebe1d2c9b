/** What the parts of the storage contract share. */
import type { Test } from 'tap';
import type { FeedSettings } from '../../src/feeds/feed.ts';
import type { FeedName, NoteFile, ReadId } from '../../src/feeds/names.ts';
import type { Refusal } from '../../src/refusals.ts';
import type { FeedChange, Storage } from '../../src/storage/storage.ts';
import { edits, reads } from '../support/storing.ts';
import { bytesOf, feedName, type Place } from './contract.ts';

export const name = feedName('feed');
export const other = feedName('other');
export const readId = (text: string) => text as ReadId;

/** Changes some settings of a feed. */
export const configure = (storage: Storage, feed: FeedName, changed: Partial<FeedSettings>) =>
  edits(storage).configure(feed, changed);

/** Closes the storage and opens its place again. */
export async function reopened(t: Test, storage: Storage, place: Place): Promise<Storage> {
  await storage.close();
  const again = await place.open();
  t.teardown(() => again.close());
  return again;
}

/** What anybody can see of a feed, but for the times. */
export async function shown(storage: Storage, feed: FeedName) {
  const record = await storage.feed(feed);
  const { notes } = await reads(storage).page(feed, { limit: 100 });
  return { feed: record && { ...record, key: '', changedAt: 0, version: '' }, notes };
}

/** Runs a change that is refused, and checks that it has changed nothing. */
export async function leavesAll(
  t: Test,
  storage: Storage,
  work: () => Promise<unknown>,
  expected: { code: string },
) {
  const before = await shown(storage, name);
  await t.rejects(work(), expected);
  t.same(await shown(storage, name), before);
}

/** The changes told from now on. */
export function heard(storage: Storage): FeedChange[] {
  const changes: FeedChange[] = [];
  storage.onChange((change) => changes.push(change));
  return changes;
}

/** The text of a note's file; undefined where there is none. */
export async function bytesIn(storage: Storage, feed: FeedName, file: NoteFile): Promise<string | undefined> {
  const stored = await reads(storage).stat(feed, file);
  if (!stored) return undefined;
  const bytes = await bytesOf(stored);
  return bytes.toString();
}

const codeOf = (one: PromiseSettledResult<unknown>) =>
  one.status === 'fulfilled' ? typeof one.value : (one.reason as Refusal).code;

/** How often each outcome came. */
export function tally(all: readonly PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of all) counts[codeOf(one)] = (counts[codeOf(one)] ?? 0) + 1;
  return counts;
}
