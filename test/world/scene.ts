import { NoteIds } from '../../src/feeds/ids.ts';
import type { FeedName, ReadId } from '../../src/feeds/names.ts';
import type { FeedLimits } from '../../src/writing/limits.ts';
import type { Random } from '../support/random.ts';
import type { Computer } from './computer.ts';
import { KnownFeed, KnownRecord, type KnownSeries, Moments } from './known.ts';
import type { Follower } from './reading.ts';

/** What the clients of one world share, across restarts. */
export class Scene {
  readonly computer: Computer;
  readonly random: Random;
  readonly moments = new Moments();
  readonly feeds: KnownFeed[] = [];
  readonly followers = new Map<KnownFeed, Follower>();
  readonly records: readonly KnownRecord[] = [1, 2].flatMap((n) => [
    new KnownRecord('link', `closed-${n}`),
    new KnownRecord('picture', Buffer.alloc(32, n).toString('base64url')),
  ]);
  readonly series: KnownSeries[] = [];
  /** Of feeds that were deleted: nobody gets them again. */
  readonly retired: ReadId[] = [];
  readonly names: readonly FeedName[];
  readonly limits: FeedLimits & { readonly bytes: number };
  /** 0 is no limit. */
  readonly maxFeeds: number;
  /** The same. */
  readonly maxBytes: number;
  /** Feeds are asked to keep only so many notes. */
  readonly hasSweeps: boolean;
  /** Somebody changes files by hand. */
  readonly hasPerson: boolean;
  /** Of clients so far. */
  operations = 0;
  #ids = new NoteIds();
  #numbers = 0;

  constructor(computer: Computer) {
    this.computer = computer;
    this.random = computer.random;
    this.names = ['ant', 'bee', 'cat'].slice(0, 1 + this.random.below(3)) as string[] as FeedName[];
    this.maxFeeds = this.random.oneOf([0, 2]);
    this.hasPerson = this.random.chance(0.4);
    this.limits = {
      texts: this.random.oneOf([0, 6, 20]),
      images: this.random.oneOf([0, 4, 20]),
      bytes: this.random.oneOf([0, 0, 400]),
    };
    this.maxBytes = this.random.oneOf([0, 0, 900]);
    this.hasSweeps = this.random.chance(0.25);
  }

  get now(): number {
    return Math.floor(this.computer.time.now);
  }

  nextId() {
    return this.#ids.next();
  }

  number(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  addFeed(name: FeedName): KnownFeed {
    const feed = new KnownFeed(name, this.number());
    this.feeds.push(feed);
    return feed;
  }

  /** What a call gave; it never settles if the process died meanwhile. */
  async alive<T>(call: Promise<T>): Promise<T> {
    const [outcome] = await Promise.allSettled([call]);
    if (this.computer.isDown) return new Promise(() => {});
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }
}
