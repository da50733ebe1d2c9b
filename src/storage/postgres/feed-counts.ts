import { randomInt } from 'node:crypto';
import type { WritingRules } from '../../writing/decide.ts';
import { storeUnavailable } from '../failures.ts';
import { LostRace, statement, type Transaction } from './transaction.ts';

/** The rows of `feed_counts`. */
const SLOTS = 16;

interface FeedCounts {
  readonly feeds: number;
  readonly bytes: number;
}

interface Slot extends FeedCounts {
  readonly slot: number;
}

const LOOK = statement<Slot>('look_at_counts')`SELECT slot, feeds, bytes FROM feed_counts`;
const LOCK_SLOT = statement<FeedCounts>(
  'lock_slot',
)`SELECT feeds, bytes FROM feed_counts WHERE slot = $1 FOR UPDATE`;
const LOCK_ALL = statement<FeedCounts>(
  'lock_counts',
)`SELECT feeds, bytes FROM feed_counts ORDER BY slot FOR UPDATE`;
const ADD = statement('add_to_counts')`
  UPDATE feed_counts SET feeds = feeds + $2, bytes = bytes + $3 WHERE slot = $1`;
/** For a transaction that has all slots locked. */
export const LEVEL = statement('level_counts')`
  UPDATE feed_counts SET feeds = sums.feeds / ${SLOTS} + (slot < sums.feeds % ${SLOTS})::integer,
    bytes = sums.bytes / ${SLOTS} + (slot < sums.bytes % ${SLOTS})::integer
  FROM (SELECT sum(feeds)::bigint AS feeds, sum(bytes)::bigint AS bytes FROM feed_counts) AS sums`;

/** Adds to the counts of feeds, and of bytes, without looking at a limit. */
export function addToCounts(
  transaction: Transaction,
  { feeds, bytes }: FeedCounts,
  slot = randomInt(SLOTS),
): void {
  if (feeds !== 0 || bytes !== 0) transaction.send(ADD, [slot, feeds, bytes]);
}

/**
 * What one transaction may add to the counts of feeds and of bytes in them. The counts are in slots, each with an equal share of
 * the limit. A transaction whose slot has room locks that slot alone, so transactions wait for each other only near a limit. A
 * transaction whose slot has no room locks all slots and spreads the counts evenly. So the sum of the slots is never above the limit.
 */
export class CountLimits {
  readonly #transaction: Transaction;
  readonly #limits: FeedCounts;
  #slot = randomInt(SLOTS);
  #hasAll = false;

  constructor(transaction: Transaction, { maxFeeds, maxBytes }: Pick<WritingRules, 'maxFeeds' | 'maxBytes'>) {
    this.#transaction = transaction;
    this.#limits = { feeds: maxFeeds, bytes: maxBytes };
  }

  /**
   * Locks what is needed to add at most so much; 0 adds nothing of the kind.
   * @returns counts so that what is below the limits may be added
   * @throws LostRace if another transaction took the place in the slot
   */
  async lock(most: FeedCounts): Promise<FeedCounts> {
    const isLimited = (['feeds', 'bytes'] as const).some((kind) => most[kind] > 0 && this.#limits[kind] > 0);
    if (!isLimited) return { feeds: 0, bytes: 0 };
    const slots = (await this.#transaction.run(LOOK, [])).filter((slot) => this.#fits(slot, most));
    if (slots.length === 0) return this.#lockAll();
    this.#slot = slots[randomInt(slots.length)]!.slot;
    const [locked] = await this.#transaction.run(LOCK_SLOT, [this.#slot]);
    if (!locked || !this.#fits(locked, most)) throw new LostRace();
    const outside = (kind: keyof FeedCounts) => this.#limits[kind] - this.#share(kind);
    return { feeds: outside('feeds') + locked.feeds, bytes: outside('bytes') + locked.bytes };
  }

  /** Stores what was added, or removed if it is negative. */
  add(added: FeedCounts): void {
    addToCounts(this.#transaction, added, this.#slot);
    if (this.#hasAll) this.#transaction.send(LEVEL, []);
  }

  async #lockAll(): Promise<FeedCounts> {
    const slots = await this.#transaction.run(LOCK_ALL, []);
    if (slots.length < SLOTS) throw storeUnavailable(new Error('the database is empty'));
    this.#hasAll = true;
    const sum = (kind: keyof FeedCounts) => slots.reduce((total, slot) => total + slot[kind], 0);
    return { feeds: sum('feeds'), bytes: sum('bytes') };
  }

  #fits(slot: FeedCounts, most: FeedCounts): boolean {
    return (['feeds', 'bytes'] as const).every(
      (kind) => most[kind] === 0 || this.#limits[kind] === 0 || slot[kind] + most[kind] <= this.#share(kind),
    );
  }

  #share(kind: keyof FeedCounts): number {
    return Math.floor(this.#limits[kind] / SLOTS);
  }
}
