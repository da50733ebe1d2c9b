import type { FeedOrder } from '../feeds/order.ts';
import { type FeedRow, feedOf } from './rows.ts';
import type { FeedListPage, FeedListQuery, FeedPlace } from './storage.ts';

/** The columns by which databases list feeds, the largest values first; undefined where names are the order. */
export const ORDER_COLUMNS: Readonly<
  Record<FeedOrder, 'byte_count' | 'note_count' | 'changed_at' | 'id' | undefined>
> = {
  bytes: 'byte_count',
  notes: 'note_count',
  changed: 'changed_at',
  created: 'id',
  name: undefined,
};

/** A place as databases compare it; before every feed unless given. */
export function feedPlaceValues(place: FeedPlace | undefined): [value: number, name: string] {
  return place ? [place.value, place.name] : [Number.MAX_SAFE_INTEGER, ''];
}

/** A page of the rows that a query found, which are one more than its limit if there is a next page. */
export function feedListPage(
  rows: readonly FeedRow<boolean | number>[],
  { order, limit }: Pick<FeedListQuery, 'order' | 'limit'>,
): FeedListPage {
  const feeds = rows.slice(0, limit);
  const last = rows.length > limit ? feeds.at(-1) : undefined;
  const column = ORDER_COLUMNS[order];
  return {
    feeds: feeds.map(feedOf),
    next: last && { value: column === undefined ? 0 : last[column], name: last.name },
  };
}
