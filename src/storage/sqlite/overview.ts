import type { Database } from 'better-sqlite3';
import { FEED_ORDERS, type FeedOrder } from '../../feeds/order.ts';
import { feedListPage, feedPlaceValues, ORDER_COLUMNS } from '../feed-lists.ts';
import type { OperatorRecord, OperatorRecordKind, OperatorRecords } from '../operator-records.ts';
import { FEED_COLUMNS, type FeedRow } from '../rows.ts';
import type { FeedListPage, FeedListQuery, Totals } from '../storage.ts';
import { preparer } from './connection.ts';

type ListStatement = ReturnType<typeof prepareList>;

/** What the operator sees of the whole instance. Most of it looks at every feed, so nothing else is to wait for it. */
export class Overview {
  readonly #sql: ReturnType<typeof prepareStatements>;

  constructor(db: Database) {
    this.#sql = prepareStatements(db);
  }

  totals(): Totals {
    return this.#sql.totals.get()!;
  }

  listFeeds(query: FeedListQuery): FeedListPage {
    const { order, start, limit, after } = query;
    const [value, name] = feedPlaceValues(after);
    const rows = this.#sql.lists.get(order)!.all({ start, value, name, count: limit + 1 });
    return feedListPage(rows, query);
  }

  /** See `OperatorRecords`. */
  listRecords(
    kind: OperatorRecordKind,
    { after, limit }: Parameters<OperatorRecords['list']>[1],
  ): OperatorRecord[] {
    return this.#sql.records.all(kind, after, limit);
  }

  countRecords(kind: OperatorRecordKind): number {
    return this.#sql.countRecords.get(kind)!.count;
  }
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  return {
    totals: prepare<[], Totals>`
      SELECT count(*) AS feeds, coalesce(sum(note_count), 0) AS notes, coalesce(sum(image_count), 0) AS pictures,
        coalesce(sum(byte_count), 0) AS bytes
      FROM feeds WHERE name IS NOT NULL`,
    lists: new Map<FeedOrder, ListStatement>(FEED_ORDERS.map((order) => [order, prepareList(db, order)])),
    records: prepare<[OperatorRecordKind, string, number], OperatorRecord>`
      SELECT kind, key, value, at FROM operator_records WHERE kind = ? AND key > ? ORDER BY key LIMIT ?`,
    countRecords: prepare<[OperatorRecordKind], { count: number }>`
      SELECT count(*) AS count FROM operator_records WHERE kind = ?`,
  };
}

/** Only ids are sorted, because whole rows take several times as long. All but names are read in the order of the table. */
function prepareList(db: Database, order: FeedOrder) {
  const prepare = preparer(db);
  const column = ORDER_COLUMNS[order];
  const name = column ? '+name' : 'name';
  const inOrder = column ? `${column} DESC, name` : 'name';
  return prepare<object, FeedRow<number>>`
    SELECT ${FEED_COLUMNS} FROM (
      SELECT id AS found FROM feeds
      WHERE ${name} >= $start AND ${name} < $start || char(0x10ffff) AND ${comesAfter(column)} ORDER BY ${inOrder} LIMIT $count
    ) JOIN feeds ON id = found ORDER BY ${inOrder}`;
}

/** The condition that a feed comes after a place. */
function comesAfter(column: (typeof ORDER_COLUMNS)[FeedOrder]): string {
  if (column === undefined) return 'name > $name';
  // No two are equal.
  return column === 'id' ? 'id < $value' : `(${column} < $value OR (${column} = $value AND name > $name))`;
}
