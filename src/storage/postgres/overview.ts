import { FEED_ORDERS, type FeedOrder } from '../../feeds/order.ts';
import { feedListPage, feedPlaceValues, ORDER_COLUMNS } from '../feed-lists.ts';
import { FEED_COLUMNS, type FeedRow } from '../rows.ts';
import type { FeedListPage, FeedListQuery, Totals } from '../storage.ts';
import type { Database } from './database.ts';
import { type Statement, statement } from './transaction.ts';

/** The rows of all feeds in the order of their ids, which is about the one that they are stored in: no other index is as fast. */
const ALL_FEEDS = 'SELECT * FROM feeds WHERE name IS NOT NULL ORDER BY id OFFSET 0';

const TOTALS = statement<{ [sum in keyof Totals]: number }>('totals')`
  SELECT count(*) AS feeds, coalesce(sum(note_count), 0)::bigint AS notes,
    coalesce(sum(image_count), 0)::bigint AS pictures, coalesce(sum(byte_count), 0)::bigint AS bytes
  FROM (${ALL_FEEDS}) AS feeds`;

const LISTS = new Map<FeedOrder, Statement<FeedRow>>(
  FEED_ORDERS.map((order) => [order, listStatement(order)]),
);

function listStatement(order: FeedOrder): Statement<FeedRow> {
  const column = ORDER_COLUMNS[order];
  // In the order of an index no more rows are read than the page has.
  if (!column)
    return statement<FeedRow>('feeds_by_name')`
      SELECT ${FEED_COLUMNS} FROM feeds WHERE starts_with(name, $1) AND name >= $1 AND name > $3 AND $2::bigint >= 0
      ORDER BY name LIMIT $4`;
  if (column === 'id')
    return statement<FeedRow>('feeds_by_id')`
      SELECT ${FEED_COLUMNS} FROM feeds WHERE starts_with(name, $1) AND id < $2 AND $3::text IS NOT NULL
      ORDER BY id DESC LIMIT $4`;
  return statement<FeedRow>(`feeds_by_${column}`)`
    SELECT ${FEED_COLUMNS} FROM (${ALL_FEEDS}) AS feeds
    WHERE starts_with(name, $1) AND (${column} < $2::bigint OR (${column} = $2::bigint AND name > $3))
    ORDER BY ${column} DESC, name LIMIT $4`;
}

/** Sums over all feeds. */
export async function totals(database: Pick<Database, 'read'>): Promise<Totals> {
  return (await database.read(TOTALS, []))[0]!;
}

/** A page of all feeds. */
export async function listFeeds(
  database: Pick<Database, 'read'>,
  query: FeedListQuery,
): Promise<FeedListPage> {
  const { order, start, limit, after } = query;
  const rows = await database.read(LISTS.get(order)!, [start, ...feedPlaceValues(after), limit + 1]);
  return feedListPage(rows, query);
}
