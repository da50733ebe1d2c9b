import type { FeedName, ReadId } from '../../feeds/names.ts';
import type { Counts } from '../refused-writes.ts';
import { FEED_COLUMNS, type FeedRow } from '../rows.ts';
import { CHANGE_CHANNEL, type ChangedFeed, encodeChanges } from './change-notice.ts';
import { columnsOf, statement, type Transaction } from './transaction.ts';

const LOCK = statement<FeedRow>('lock_feeds')`
  SELECT ${FEED_COLUMNS} FROM feeds WHERE name = ANY ($1) ORDER BY id FOR UPDATE`;
const COUNT = statement('count_notes')`
  UPDATE feeds SET note_count = notes, image_count = images, changed_at = changed
  FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bigint[]) AS now (feed, notes, images, changed)
  WHERE feeds.id = feed`;
const COUNT_FEEDS = statement('count_feeds')`UPDATE feed_count SET feeds = feeds + $1`;
const NOTIFY = statement('notify')`
  SELECT pg_notify('${CHANGE_CHANNEL}', payload) FROM unnest($1::text[]) AS payload`;

/**
 * The feeds that have these names, locked until the transaction ends. Every change of a feed or its notes locks the
 * feed first; several are locked in the order of their ids, and before anything else, so there is no deadlock.
 */
export function lockFeeds(transaction: Transaction, names: readonly FeedName[]): Promise<FeedRow[]> {
  return transaction.run(LOCK, [names]);
}

/**
 * The feed with these notes added (negative: removed) and the time of the change. Call it once in a transaction, because a
 * feed is never dated twice the same, and many changes at once would date it ahead of the clock.
 */
export function withCounts(feed: FeedRow, { notes, images }: Readonly<Counts>, now: number): FeedRow {
  return {
    ...feed,
    note_count: feed.note_count + notes + images,
    image_count: feed.image_count + images,
    changed_at: Math.max(feed.changed_at + 1, now),
  };
}

/** Stores the counters of locked feeds and the times of their changes, and tells every process of these. */
export function recordChanges(
  transaction: Transaction,
  feeds: readonly FeedRow[],
  formerReadIds: readonly ReadId[] = [],
): void {
  transaction.send(COUNT, columnsOf(feeds, 'id', 'note_count', 'image_count', 'changed_at'));
  const changes = feeds.map(({ id, read_id }) => ({ key: String(id), readIds: [...formerReadIds, read_id] }));
  notifyChanges(transaction, changes);
}

/** Adds to the number of feeds. */
export function countFeeds(transaction: Transaction, more: number): void {
  transaction.send(COUNT_FEEDS, [more]);
}

/** Tells every process of changes when the transaction is committed. */
export function notifyChanges(transaction: Transaction, changes: readonly ChangedFeed[]): void {
  const { origin } = transaction;
  transaction.changes.push(...changes);
  if (changes.length > 0) transaction.send(NOTIFY, [encodeChanges({ origin, changes })]);
}
