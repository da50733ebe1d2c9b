import type { FeedName } from '../../feeds/names.ts';
import type { OperatorRecord, OperatorRecordKind, OperatorRecords } from '../operator-records.ts';
import { datedNow, feedOf } from '../rows.ts';
import { recordChanges } from './changes-table.ts';
import type { Database } from './database.ts';
import { LostRace, statement, type Transaction } from './transaction.ts';
import { BLOCKS_LOCK, LOCK_FEEDS } from './writes.ts';

const ADD = statement<object>('add_record')`
  INSERT INTO operator_records (kind, key, value, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING 1`;
const REMOVE = statement<object>('remove_record')`
  DELETE FROM operator_records WHERE kind = $1 AND key = $2 RETURNING 1`;
const FIND = statement<OperatorRecord>('find_records')`
  SELECT kind, key, value, at FROM operator_records WHERE kind = $1 AND key = ANY ($2)`;
const LIST = statement<OperatorRecord>('list_records')`
  SELECT kind, key, value, at FROM operator_records WHERE kind = $1 AND key > $2 ORDER BY key LIMIT $3`;
const COUNT = statement<{ count: number }>('count_records')`
  SELECT count(*) AS count FROM operator_records WHERE kind = $1`;
const LOCK_BLOCKS = statement('lock_blocks')`SELECT pg_advisory_xact_lock(${BLOCKS_LOCK})`;
const IS_THERE = statement<object>('is_feed_there')`SELECT 1 FROM feeds WHERE name = $1`;
const SET_BLOCKED = statement('set_blocked')`UPDATE feeds SET blocked = $2, changed_at = $3 WHERE id = $1`;

/** The reads of `OperatorRecords`. */
export function recordReads(
  database: Pick<Database, 'read'>,
): Pick<OperatorRecords, 'find' | 'list' | 'count'> {
  return {
    find: (kind, keys) => database.read(FIND, [kind, keys]),
    list: (kind, { after, limit }) => database.read(LIST, [kind, after, limit]),
    count: async (kind) => (await database.read(COUNT, [kind]))[0]!.count,
  };
}

/**
 * See `OperatorRecords.add`.
 * @throws LostRace if the feed was made meanwhile
 */
export function addRecord(transaction: Transaction, record: OperatorRecord): Promise<boolean> {
  const { kind, key, value, at } = record;
  return changeRecord(transaction, record, true, () => transaction.run(ADD, [kind, key, value, at]));
}

/**
 * See `OperatorRecords.remove`.
 * @throws LostRace if the feed was made meanwhile
 */
export function removeRecord(
  transaction: Transaction,
  kind: OperatorRecordKind,
  key: string,
): Promise<boolean> {
  return changeRecord(transaction, { kind, key }, false, () => transaction.run(REMOVE, [kind, key]));
}

/**
 * Changes a record. A record of a name is changed together with its feed, while no other transaction makes a feed. A new block of a picture
 * is stored while no other transaction stores a picture.
 */
async function changeRecord(
  transaction: Transaction,
  { kind, key: name }: Pick<OperatorRecord, 'kind' | 'key'>,
  isBlocked: boolean,
  change: () => Promise<readonly object[]>,
): Promise<boolean> {
  if (kind === 'picture' && isBlocked) transaction.send(LOCK_BLOCKS, []);
  if (kind !== 'name') return (await change()).length > 0;
  const [row] = await transaction.run(LOCK_FEEDS, [[name as FeedName]]);
  transaction.send(LOCK_BLOCKS, []);
  if (!row && (await transaction.run(IS_THERE, [name])).length > 0) throw new LostRace();
  const isDone = (await change()).length > 0;
  if (!isDone || !row) return isDone;
  const { key, changedAt, readId } = datedNow(feedOf(row));
  transaction.send(SET_BLOCKED, [key, isBlocked, changedAt]);
  recordChanges(transaction, [{ key, readIds: [readId] }]);
  return true;
}
