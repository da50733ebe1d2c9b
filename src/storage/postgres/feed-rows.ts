import type { FeedName } from '../../feeds/names.ts';
import type { Counts } from '../refused-writes.ts';
import { CHANGE_CHANNEL, type ChangedFeed, encodeChanges } from './change-notice.ts';
import type { Transaction } from './database.ts';
import { FEED_COLUMNS, type FeedRow } from './rows.ts';
import { statement } from './statement.ts';

const LOCK = statement<FeedRow>(
  'lock_feeds',
  `SELECT ${FEED_COLUMNS} FROM feeds WHERE name = ANY ($1) ORDER BY id FOR UPDATE`,
);
const COUNT = statement<FeedRow>(
  'count_notes',
  `UPDATE feeds SET note_count = note_count + texts + images, image_count = image_count + images,
     changed_at = greatest(changed_at, $1)
   FROM unnest($2::bigint[], $3::integer[], $4::integer[]) AS more (feed, texts, images)
   WHERE feeds.id = feed RETURNING ${FEED_COLUMNS}`,
);
const LOCK_COUNT = statement<{ feeds: number }>('lock_count', 'SELECT feeds FROM feed_count FOR UPDATE');
const COUNT_FEEDS = statement('count_feeds', 'UPDATE feed_count SET feeds = feeds + $1');
const NOTIFY = statement(
  'notify',
  `SELECT pg_notify('${CHANGE_CHANNEL}', payload) FROM unnest($1::text[]) AS payload`,
);

/**
 * The feeds that have these names, locked until the transaction ends. Every change of a feed or its notes locks the
 * feed first; several are locked in the order of their ids, and before anything else is, so nobody waits in a circle.
 */
export function lockFeeds(transaction: Transaction, names: readonly FeedName[]): Promise<FeedRow[]> {
  return transaction.run(LOCK, [names]);
}

/** Counts notes that came or went, and with that the change itself. Gives the feeds as they are then. */
export function countNotes(
  transaction: Transaction,
  counts: ReadonlyMap<number, Readonly<Counts>>,
  now: number,
): Promise<FeedRow[]> {
  const all = [...counts.values()];
  const [texts, images] = [all.map(({ notes }) => notes), all.map(({ images }) => images)];
  return transaction.run(COUNT, [now, [...counts.keys()], texts, images]);
}

/** How many feeds there are. No other transaction makes or deletes one until this one ends. */
export async function lockFeedCount(transaction: Transaction): Promise<number> {
  const [row] = await transaction.run(LOCK_COUNT, []);
  return row!.feeds;
}

/** Counts feeds that came or went. */
export async function countFeeds(transaction: Transaction, more: number): Promise<void> {
  await transaction.run(COUNT_FEEDS, [more]);
}

/** Tells every process of changes when the transaction is committed. */
export async function notifyChanges(
  transaction: Transaction,
  changes: readonly ChangedFeed[],
): Promise<void> {
  if (changes.length > 0) await transaction.run(NOTIFY, [encodeChanges(changes)]);
}
