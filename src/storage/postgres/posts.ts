import type { Feed } from '../../feeds/feed.ts';
import { isReservedReadId, randomReadId } from '../../feeds/ids.ts';
import type { FeedName, ReadId } from '../../feeds/names.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import { Refusal } from '../../refusals.ts';
import type { Post } from '../database-storage.ts';
import {
  type Counts,
  countedIn,
  countOf,
  limitsNow,
  NO_NOTES,
  readIdTaken,
  refuseBeyond,
  storeUnavailable,
  tooManyFeeds,
} from '../refused-writes.ts';
import { FEED_COLUMNS, type FeedRow, feedOf, type InsertedNote, insertedNote } from '../rows.ts';
import type { FeedCreation } from '../storage.ts';
import { countFeeds, lockFeeds, recordChanges, withCounts } from './feed-rows.ts';
import { insertNotes } from './note-rows.ts';
import { columnsOf, statement, type Transaction } from './transaction.ts';

/** The feed of a post, undefined where the feed is not what the target says, or why the post is refused. */
export type Answer = Feed | Error | undefined;

/** Rules for posts of this instance. */
export interface PostRules {
  /** The most feeds there may be; 0 is no limit. */
  readonly maxFeeds: number;
  /** See `limitsNow`. */
  readonly isLicenseValid: LicenseCheck | undefined;
}

/** How many feeds there are. No other transaction makes or deletes one until this one ends. */
const LOCK_COUNT = statement<{ feeds: number }>('lock_count')`SELECT feeds FROM feed_count FOR UPDATE`;
const HOLDERS = statement<{ name: FeedName | null; read_id: ReadId }>('holders')`
  SELECT name, read_id FROM feeds WHERE name = ANY ($1)
  UNION ALL SELECT name, read_id FROM feeds WHERE read_id = ANY ($2)`;
const FREE = statement('free_read_id')`UPDATE feeds SET read_id = $2 WHERE read_id = $1 AND name IS NULL`;
const MAKE = statement<FeedRow>('make_feeds')`
  INSERT INTO feeds (name, read_id, password_hash, changed_at)
  SELECT name, read_id, password_hash, 0
  FROM unnest($1::text[], $2::text[], $3::text[]) AS new (name, read_id, password_hash)
  ON CONFLICT DO NOTHING RETURNING ${FEED_COLUMNS}`;

/** Stores many posts in one transaction, deciding on each in their order. */
export class Posts {
  readonly #transaction: Transaction;
  readonly #rules: PostRules;
  readonly #now = Date.now();
  /** As they were when they were locked, or made. */
  readonly #feeds = new Map<FeedName, FeedRow>();
  readonly #notes: InsertedNote[] = [];
  /** New notes by feed. */
  readonly #counts = new Map<FeedName, Counts>();
  readonly #refusals = new Map<Post, Refusal>();
  readonly #stored = new Set<Post>();

  constructor(transaction: Transaction, rules: PostRules) {
    this.#transaction = transaction;
    this.#rules = rules;
  }

  async store(posts: readonly Post[]): Promise<readonly Answer[]> {
    const names = new Set(posts.map(({ name }) => name));
    for (const feed of await lockFeeds(this.#transaction, [...names])) this.#feeds.set(feed.name, feed);
    await this.#makeFeeds(posts);
    for (const post of posts) if (this.#fits(post)) this.#add(post);
    const changed = [...this.#counts].map(([name, counts]) =>
      withCounts(this.#feeds.get(name)!, counts, this.#now),
    );
    recordChanges(this.#transaction, changed);
    await insertNotes(this.#transaction, this.#notes);
    const feeds = new Map(changed.map((feed) => [feed.name, feedOf(feed)]));
    const feedOfStored = (post: Post) => (this.#stored.has(post) ? feeds.get(post.name) : undefined);
    return posts.map((post) => this.#refusals.get(post) ?? feedOfStored(post));
  }

  /** Makes the feeds that are still to be made, each with the first post that wants it. */
  async #makeFeeds(posts: readonly Post[]): Promise<void> {
    const makers = new Map<FeedName, Post>();
    for (const post of posts)
      if (post.target.kind === 'new' && !this.#feeds.has(post.name) && !makers.has(post.name))
        makers.set(post.name, post);
    if (makers.size === 0) return;
    const wanted = [...makers].map(([name, { target }]) => {
      const { readId = randomReadId(), passwordHash } = target as FeedCreation;
      return { name, readId, passwordHash };
    });
    const [count] = await this.#transaction.run(LOCK_COUNT, []);
    if (!count) throw storeUnavailable(new Error('the database is empty'));
    const readIds = wanted.map(({ readId }) => readId);
    for (const { name, readId } of wanted)
      if (isReservedReadId(readId, name)) this.#transaction.send(FREE, [readId, randomReadId()]);
    const holders = await this.#transaction.run(HOLDERS, [[...makers.keys()], readIds]);
    const names = new Set(holders.map(({ name }) => name));
    const taken = new Set(holders.map(({ read_id }) => read_id));
    const feeds: typeof wanted = [];
    for (const feed of wanted) {
      // Another process was faster.
      if (names.has(feed.name)) continue;
      const post = makers.get(feed.name)!;
      const isAllowed = this.#allows(post, () => {
        if (taken.has(feed.readId)) throw readIdTaken();
        const { maxFeeds } = this.#rules;
        if (maxFeeds > 0 && count.feeds + feeds.length >= maxFeeds) throw tooManyFeeds();
        this.#refuseBeyond(post, undefined, NO_NOTES);
      });
      if (!isAllowed) continue;
      taken.add(feed.readId);
      feeds.push(feed);
    }
    // If a concurrent insert took the read id, `ON CONFLICT DO NOTHING` skips the row, and the post is retried.
    const made = await this.#transaction.run(MAKE, columnsOf(feeds, 'name', 'readId', 'passwordHash'));
    for (const feed of made) {
      this.#feeds.set(feed.name, feed);
      this.#add(makers.get(feed.name)!);
    }
    countFeeds(this.#transaction, made.length);
  }

  /** Whether a post is for a feed that is there, which has a place for it. */
  #fits(post: Post): boolean {
    const { name, target } = post;
    const feed = this.#feeds.get(name);
    if (!feed || target.kind !== 'existing' || feed.password_hash !== (target.passwordHash ?? null))
      return false;
    const [stored, coming] = [countedIn(feed), this.#counts.get(name) ?? NO_NOTES];
    const taken = { notes: stored.notes + coming.notes, images: stored.images + coming.images };
    return this.#allows(post, () => this.#refuseBeyond(post, feed, taken));
  }

  #refuseBeyond(post: Post, feed: FeedRow | undefined, taken: Readonly<Counts>): void {
    if (post.limits === undefined) return;
    const limits = limitsNow(post.limits, feed?.license, this.#rules.isLicenseValid);
    refuseBeyond({ notes: post.following ?? post.notes, limits }, taken);
  }

  /** Runs checks that throw a refusal. */
  #allows(post: Post, check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#refusals.set(post, error);
      return false;
    }
  }

  #add(post: Post): void {
    const { id, name } = this.#feeds.get(post.name)!;
    const { notes, images } = countOf(post.notes);
    const before = this.#counts.get(name) ?? NO_NOTES;
    this.#counts.set(name, { notes: before.notes + notes, images: before.images + images });
    this.#notes.push(...post.notes.map((note) => insertedNote(id, note, this.#now)));
    this.#stored.add(post);
  }
}
