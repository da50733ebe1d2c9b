import { FeedClient } from '../../support/feed-client.ts';
import type { Random } from '../../support/random.ts';
import { ask, type Reply } from '../../support/service.ts';

/** A promise that the service has not kept, as a sentence. */
export class Broken extends Error {}

/** The service cannot answer at the moment; nobody knows what became of a write. */
export class Unavailable extends Broken {}

/** What the writes go to: services on the same data, of which some may be killed at any moment. */
export interface Load {
  /** The address of one of those that run. */
  readonly url: string;
  /** The place where pictures were before the services were started with another one. */
  readonly movedFrom: Record<string, string>;
  /** Begins the names of feeds that no load before had. */
  readonly prefix: string;
  readonly random: Random;
}

/** One kind of writes. It knows what it was promised. */
export interface WriteKind {
  readonly name: string;
  /** How many write at once. */
  readonly clients: number;
  /**
   * Writes once, or a few times. Rejects with `Broken` after an answer that is wrong, with anything else when there is no
   * answer.
   */
  write(client: number): Promise<void>;
  /** Called when all services are back after a kill, and nobody writes. Throws `Broken` unless all that was promised is there. */
  check(): Promise<void>;
}

/** A client of a feed of this load, at one of its services. */
export function feedOf(load: Load, name: string, headers: Record<string, string> = {}): FeedClient {
  return new FeedClient(load.url, load.prefix + name, headers);
}

/** The answer, if it has one of these statuses. */
export function answered(reply: Reply, ...statuses: readonly number[]): Reply {
  if (statuses.includes(reply.status)) return reply;
  const { status, text } = reply;
  const Wrong = status === 503 ? Unavailable : Broken;
  throw new Wrong(`${statuses.join(' or ')} was expected, not ${status} ${text.slice(0, 300)}`);
}

/** What is not as it was promised. */
export async function checkAll(kinds: readonly WriteKind[]): Promise<string[]> {
  const broken: string[] = [];
  for (const kind of kinds)
    await kind.check().catch((error: Error) => {
      broken.push(`${kind.name}: ${error instanceof Broken ? error.message : error.stack}`);
    });
  return broken;
}

/** Throws `Broken` unless two JSON values are the same. */
export function same(found: unknown, expected: unknown, what: string): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)];
  if (left !== right) throw new Broken(`${what}: ${left?.slice(0, 600)} instead of ${right?.slice(0, 600)}`);
}

/** All notes of a feed, page by page, newest first. */
// biome-ignore lint/suspicious/noExplicitAny: tests read any member of an answer
export async function listed(feed: FeedClient): Promise<any[]> {
  const notes = [];
  for (let before = ''; ; ) {
    const { json } = answered(await feed.list(`?limit=100${before}`), 200);
    notes.push(...json.notes);
    if (json.next === null) return notes;
    before = `&before=${encodeURIComponent(json.next)}`;
  }
}

/** The bytes of a file of a note. */
export async function bytesAt(url: string): Promise<Buffer> {
  return answered(await ask(url), 200).bytes;
}
