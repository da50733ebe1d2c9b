import { type ChangedFeed, encodeChanges } from './change-notice.ts';
import type { Database } from './database.ts';
import { statement, type Transaction } from './transaction.ts';

/** Rows removed in one step. */
const STEP_ROWS = 2_000;

const RECORD = statement('record_changes')`
  INSERT INTO feed_changes (payload) SELECT payload FROM unnest($1::text[]) AS payload`;
/** Whoever else removes the same rows does not wait. */
const REMOVE = statement<object>('remove_changes')`
  DELETE FROM feed_changes WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM feed_changes WHERE tx < pg_snapshot_xmax($1::pg_snapshot) AND pg_visible_in_snapshot(tx, $1::pg_snapshot)
    ORDER BY tx LIMIT ${STEP_ROWS} FOR UPDATE SKIP LOCKED))
  RETURNING 1`;

/** Records changes in the transaction that makes them, so that every process finds them once it is committed. */
export function recordChanges(transaction: Transaction, changes: readonly ChangedFeed[]): void {
  if (changes.length === 0) return;
  const payloads = encodeChanges({ origin: transaction.origin, changes });
  transaction.changes.push(...changes);
  transaction.payloads.push(...payloads);
  transaction.send(RECORD, [payloads]);
}

/** Removes, in small steps, what was recorded by transactions that a snapshot of the server saw. */
export async function removeChanges(database: Pick<Database, 'write'>, snapshot: string): Promise<void> {
  while ((await database.write(REMOVE, [snapshot])).length === STEP_ROWS);
}
