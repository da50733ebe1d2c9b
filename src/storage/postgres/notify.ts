import { CHANGE_CHANNEL, type ChangedFeed, encodeChanges } from './change-notice.ts';
import { statement, type Transaction } from './transaction.ts';

const NOTIFY = statement('notify')`
  SELECT pg_notify('${CHANGE_CHANNEL}', payload) FROM unnest($1::text[]) AS payload`;

/** Tells every process of changes when the transaction is committed. */
export function notifyAll(transaction: Transaction, changes: readonly ChangedFeed[]): void {
  const { origin } = transaction;
  transaction.changes.push(...changes);
  if (changes.length > 0) transaction.send(NOTIFY, [encodeChanges({ origin, changes })]);
}
