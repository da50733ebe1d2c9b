import { createHash } from 'node:crypto';

/** A note that a request makes, with the members that a list must show. */
export interface Part {
  readonly type: string;
  /** Of a text, with the names of the pictures that came with it; the stored text has their files instead. */
  readonly text?: string;
  /** Of a picture. */
  readonly sha256?: string;
  readonly title: string;
  readonly alt?: string;
  readonly tags: readonly string[];
  readonly key?: string;
  /** ISO time. */
  readonly expires?: string;
}

/** The notes of a request: the text as `TEXT`, a picture under its name, one that came without a name as ''. */
export type Parts = ReadonlyMap<string, Part>;

export const TEXT = 'text';
const NOTHING: Parts = new Map();

/** A keyed post as it was sent. */
export interface Keyed {
  readonly body: string | Buffer<ArrayBuffer>;
  readonly headers: Record<string, string>;
}

/** What one post made and later requests made of it. At most one request is on its way. */
export class Post {
  /** Its notes have the number as a tag, in their text, or in their bytes. */
  readonly number: number;
  /** What the last answer promises. */
  settled = NOTHING;
  /** The state that it has if the request that got no answer was carried out. */
  unsure: Parts | undefined;
  readonly ids = new Map<string, string>();
  readonly files = new Map<string, string>();
  keyed: Keyed | undefined;
  /** Changed since the last look. */
  isFresh = true;

  constructor(number: number) {
    this.number = number;
  }

  /** Something is there, and no request on its way. */
  get isSettled(): boolean {
    return this.unsure === undefined && this.settled.size > 0;
  }

  /** What may be there, by what the answers promise. */
  get possible(): readonly Parts[] {
    return this.unsure === undefined ? [this.settled] : [this.settled, this.unsure];
  }

  settle(parts: Parts): void {
    this.settled = parts;
    this.unsure = undefined;
  }
}

export interface Settings {
  readonly title: string;
  readonly description: string;
  /** Empty for none. */
  readonly password: string;
  /** Undefined until an answer has told it. */
  readonly readId: string | undefined;
}

/** A feed from its first post to its deletion. */
export class LedgerFeed {
  readonly name: string;
  /** Settings that its first post gives it. */
  readonly birth: Settings;
  /** Undefined until a post was answered. */
  settled: Settings | undefined;
  unsure: Settings | undefined;
  /** A deletion was not answered. */
  isGoing = false;
  readonly posts: Post[] = [];

  constructor(name: string, password = '') {
    this.name = name;
    this.birth = { title: '', description: '', password, readId: undefined };
  }

  /** It is there, and no request about itself is on its way. */
  get isSettled(): boolean {
    return this.settled !== undefined && this.unsure === undefined && !this.isGoing;
  }

  /** What its record may say, by what the answers promise. */
  get possible(): readonly Settings[] {
    return [this.settled ?? this.birth, ...(this.unsure ? [this.unsure] : [])];
  }
}

/** All that a service was asked to store, and what it promised. */
export class Ledger {
  readonly feeds = new Map<string, LedgerFeed>();
  /** Read ids of deleted feeds, which nobody gets again. */
  readonly retired: string[] = [];
  #count = 0;

  /** How many posts were sent. */
  get size(): number {
    return this.#count;
  }

  /** The feed of that name; one that is yet to be born if there is none. */
  feed(name: string, password = ''): LedgerFeed {
    const feed = this.feeds.get(name) ?? new LedgerFeed(name, password);
    this.feeds.set(name, feed);
    return feed;
  }

  nextNumber(): number {
    this.#count += 1;
    return this.#count;
  }

  /** Takes a deletion down that is certain. */
  removed(feed: LedgerFeed): void {
    const { readId } = feed.settled ?? {};
    if (readId !== undefined) this.retired.push(readId);
    this.feeds.delete(feed.name);
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
