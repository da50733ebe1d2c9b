import { createHash } from 'node:crypto';
import { FeedClient } from '../feed-client.ts';
import type { Random } from '../random.ts';
import { unlessBusy } from '../searching.ts';
import { ask, type Reply } from '../service.ts';

/** A promise that the service has not kept, as a sentence. */
export class Broken extends Error {}

/** The service failed to answer as it should; nobody knows what became of a write. */
export class Failed extends Broken {}

/** The service cannot answer at the moment; nobody knows what became of a write. */
export class Unavailable extends Failed {}

/** A client has nothing to write until the next look: what it would change is in doubt. */
export class Idle extends Error {}

/** What the writes go to: services on the same data, of which some may be killed at any moment. */
export interface Target {
  /** The address of one of those that run. */
  readonly url: string;
  /** The place where pictures were before the services were started with another one; undefined if there was none. */
  readonly movedFrom: Record<string, string> | undefined;
  /** How far a failure of their disk has come: it was ordered, or all that is written since fails. */
  readonly diskFailure?: 'ordered' | 'complete' | undefined;
}

/** What the kinds of writes share until everything is deleted. */
export class Load {
  readonly random: Random;
  /** Begins the names of feeds that no load before had. */
  readonly prefix: string;
  /** The feeds that somebody tried to make. */
  readonly feeds = new Set<string>();
  readonly #target: Target;
  #count = 0;

  constructor(target: Target, random: Random, prefix = '') {
    this.#target = target;
    this.random = random;
    this.prefix = prefix;
  }

  get url(): string {
    return this.#target.url;
  }

  get movedFrom(): Record<string, string> | undefined {
    return this.#target.movedFrom;
  }

  /** Whether the disk fails, or is about to. */
  get isFailing(): boolean {
    return this.#target.diskFailure !== undefined;
  }

  /**
   * The answer to a write. Rejects with `Failed` if the write was on its way while the disk began to fail: ext4 that is being shut
   * down says of some syncs that they are done and keeps nothing of them. A machine without power would not answer.
   */
  async answer(send: () => Promise<Reply>): Promise<Reply> {
    const before = this.#target.diskFailure;
    const reply = await send();
    if (before !== 'complete' && this.#target.diskFailure)
      throw new Failed('the disk began to fail meanwhile');
    return reply;
  }

  /** A number that this load did not have yet. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /** A client of a feed, at one of the services. */
  feed(name: string, headers: Record<string, string> = {}): FeedClient {
    this.feeds.add(this.prefix + name);
    return this.stranger(name, headers);
  }

  /** The same for a feed that must never be there. */
  stranger(name: string, headers: Record<string, string> = {}): FeedClient {
    return new FeedClient(this.url, this.prefix + name, headers);
  }
}

/** One kind of writes. It knows what it was promised. */
export interface WriteKind {
  readonly name: string;
  /** How many write at once. */
  readonly clients: number;
  /**
   * Writes once, or a few times. Rejects with `Idle` if there is nothing to write, with `Broken` after an answer that is wrong,
   * with anything else if there is no answer.
   */
  write(client: number): Promise<void>;
  /** Called when all services are back after a fault, and nobody writes. Throws `Broken` unless all that was promised is there. */
  check(): Promise<void>;
}

/** The answer, if it has one of these statuses. */
export function answered(reply: Reply, ...statuses: readonly number[]): Reply {
  if (statuses.includes(reply.status)) return reply;
  const { status, text } = reply;
  const Wrong = status === 503 ? Unavailable : status >= 500 ? Failed : Broken;
  throw new Wrong(`${statuses.join(' or ')} was expected, not ${status} ${text.slice(0, 300)}`);
}

/** The answer to a question, which is asked again while the service is busy, if it has one of these statuses. */
export async function look(request: () => Promise<Reply>, ...statuses: readonly number[]): Promise<Reply> {
  return answered(await unlessBusy(request), ...(statuses.length > 0 ? statuses : [200]));
}

/** Throws `Broken` unless two JSON values are the same. */
export function same(found: unknown, expected: unknown, what: string): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)];
  if (left !== right) throw new Broken(`${what}: ${left?.slice(0, 600)} instead of ${right?.slice(0, 600)}`);
}

/** All notes in a list, page by page, newest first. */
export async function listed(list: (query: string) => Promise<Reply>): Promise<ListedNote[]> {
  const notes: ListedNote[] = [];
  for (let before = ''; ; ) {
    const { json } = await look(() => list(`?limit=100${before}`));
    notes.push(...json.notes);
    if (json.next === null) return notes;
    before = `&before=${encodeURIComponent(json.next)}`;
  }
}

/** A note as a list of the service shows it. */
export interface ListedNote {
  readonly id: string;
  readonly type: string;
  readonly file: string;
  /** Null if the feed has no read link, which no feed here should lack. */
  readonly file_url: string | null;
  readonly size: number;
  readonly title: string;
  /** Of a text. */
  readonly content?: string;
  readonly alt?: string;
  readonly name?: string;
  readonly tags: readonly string[];
  readonly key?: string;
  readonly expires_at?: string;
}

/** The bytes of a file of a note. */
export async function bytesAt(url: string | null): Promise<Buffer> {
  if (url === null) throw new Broken('a file has no address');
  return (await look(() => ask(url))).bytes;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
