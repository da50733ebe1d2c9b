import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../access/access.ts';
import type { Session } from '../access/cookies.ts';
import type { Feed } from '../feeds/feed.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import type { LiveSource, LiveStream } from '../http/answer.ts';
import { type Answer, eventStream } from '../http/answer.ts';
import { feedVersion, publicFeedVersion } from '../read/views/document.ts';
import { Refusal } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';

/** Streams that may be open at once. */
const MAX_STREAMS = 20_000;
const MAX_STREAMS_OF_CLIENT = 20;
const RETRY_SECONDS = 15;
/** Interval for looking up names without a feed, because change events carry only read ids, and for ending sessions. */
const TICK_MS = 500;
/** Listeners served in one turn of the event loop. */
const BATCH_SIZE = 250;

const START = Buffer.from('retry: 3000\n\n');
const COMMENT = Buffer.from(':\n\n');
const GONE = changeEvent('0');

interface Subscription {
  readonly client: string;
  /** Set if the client opened the stream by the feed's name; otherwise it did so by the read id. */
  readonly name?: FeedName;
  readonly readId: ReadId | undefined;
  /** The version that the client has. */
  readonly since: string;
  /** What admitted the client; undefined for everybody, and if no feed has the name yet. */
  readonly feed?: Feed | undefined;
  /** The stream ends with it. */
  readonly session?: Session | undefined;
}

/** Sends the listeners of a feed an event when it has changed. */
export class FeedEvents {
  readonly storage: Pick<Storage, 'feed' | 'feedByReadId'>;
  readonly #topics = new Map<string, Topic>();
  /** The topics of the feed with this read id. */
  readonly #byReadId = new Map<ReadId, Set<Topic>>();
  /** How many streams each client has. */
  readonly #streams = new Map<string, number>();
  #count = 0;
  #receivesChanges = true;
  #ticking: NodeJS.Timeout | undefined;

  constructor(storage: Pick<Storage, 'feed' | 'feedByReadId' | 'onChange' | 'onFreshness'>) {
    this.storage = storage;
    storage.onChange(({ readIds }) => {
      for (const readId of readIds) for (const topic of this.#byReadId.get(readId) ?? []) topic.lookUp();
    });
    storage.onFreshness?.((isFresh) => {
      this.#receivesChanges = isFresh;
      if (isFresh) for (const topic of this.#topics.values()) topic.lookUp();
    });
  }

  /**
   * `GET /r/{read_id}/events`
   * @param since the version that the client has; the current one if undefined
   * @throws Refusal `busy`
   */
  async byReadId(readId: ReadId, client: string, since: string | undefined): Promise<Answer> {
    const known = since ?? this.#topics.get(topicKey(undefined, readId))?.version;
    const version = known ?? publicFeedVersion(await this.storage.feedByReadId(readId));
    return this.#answer({ client, readId, since: version });
  }

  /**
   * `GET /api/v1/feeds/{feed}/events` for a client that may read the feed.
   * @param feed what admitted the client; undefined if no feed has the name yet
   * @param since as for `byReadId`
   * @throws Refusal `busy`
   */
  byName(
    name: FeedName,
    feed: Feed | undefined,
    { client, session }: Pick<Caller, 'client' | 'session'>,
    since = feedVersion(feed),
  ): Answer {
    return this.#answer({ client, name, readId: feed?.readId, since, feed, session });
  }

  /**
   * Ends the streams that were opened with this session, for a logout. Other processes do not learn of it: there a stream
   * stays until its page is left.
   */
  endSession({ id }: Session): void {
    for (const topic of this.#topics.values()) topic.endSessions((session) => session.id === id);
  }

  /** The bounds are checked again when the stream opens, because an answer may be sent late. */
  #answer(asked: Subscription): Answer {
    if (!this.#hasRoomFor(asked.client))
      throw new Refusal('busy', 'Too many event streams are open: please try again later.', {
        retryAfter: RETRY_SECONDS,
      });
    // A copy, because a slice would keep the whole header in memory while the stream is open.
    const subscription = { ...asked, client: Buffer.from(asked.client).toString() };
    const open = (stream: LiveStream): LiveSource => {
      stream.send(START);
      if (this.#hasRoomFor(subscription.client)) return this.#listen(stream, subscription);
      stream.end();
      return { closed: () => {} };
    };
    return eventStream({ heartbeat: COMMENT, open }, asked.name === undefined ? 'public' : 'private');
  }

  #hasRoomFor(client: string): boolean {
    return this.#count < MAX_STREAMS && (this.#streams.get(client) ?? 0) < MAX_STREAMS_OF_CLIENT;
  }

  #listen(stream: LiveStream, subscription: Subscription): Listener {
    const { client, name, readId } = subscription;
    this.#count += 1;
    this.#streams.set(client, (this.#streams.get(client) ?? 0) + 1);
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS).unref();
    const key = topicKey(name, readId);
    let topic = this.#topics.get(key);
    if (topic === undefined) {
      topic = new Topic(this, name);
      this.#topics.set(key, topic);
      this.#indexUnder(topic, readId);
    }
    const listener = new Listener(topic, stream, subscription);
    topic.add(listener);
    return listener;
  }

  onClose(listener: Listener): void {
    const { client, topic } = listener;
    this.#count -= 1;
    if (this.#count === 0) {
      clearInterval(this.#ticking);
      this.#ticking = undefined;
    }
    const streams = this.#streams.get(client)! - 1;
    if (streams > 0) this.#streams.set(client, streams);
    else this.#streams.delete(client);
    topic.listeners.delete(listener);
    if (topic.listeners.size > 0) return;
    this.#topics.delete(topicKey(topic.name, topic.readId));
    this.#indexUnder(topic, undefined);
  }

  /** Follows a name to the read id of its feed, before listeners get an event. */
  onFound(topic: Topic, feed: Feed | undefined): void {
    if (topic.name === undefined || feed?.readId === topic.readId) return;
    this.#indexUnder(topic, feed?.readId);
    // It may have changed since the look-up began, unnoticed by this topic.
    if (feed !== undefined) topic.lookUp();
  }

  /** From now on changes of this read id, and no other, concern the topic. */
  #indexUnder(topic: Topic, readId: ReadId | undefined): void {
    if (topic.readId !== undefined) {
      const topics = this.#byReadId.get(topic.readId)!;
      topics.delete(topic);
      if (topics.size === 0) this.#byReadId.delete(topic.readId);
    }
    topic.readId = readId;
    if (readId === undefined) return;
    const topics = this.#byReadId.get(readId) ?? new Set();
    this.#byReadId.set(readId, topics.add(topic));
  }

  #tick(): void {
    const now = Date.now();
    for (const topic of this.#topics.values()) {
      // While changes are not received, the storage mostly cannot be asked either.
      if (topic.mustPoll && this.#receivesChanges) topic.lookUp();
      topic.endSessions(({ until }) => until <= now);
    }
  }
}

/** A feed with listeners, by its name or, without one, by its read id. */
class Topic {
  readonly name: FeedName | undefined;
  /** Without a name: the topic's key, which never changes. With a name: the read id of its feed, if one is known. */
  readId: ReadId | undefined;
  readonly events: FeedEvents;
  readonly listeners = new Set<Listener>();
  /** No feed has the name, or the last look-up failed. */
  mustPoll = false;
  /** The last version and its event, encoded once for all listeners. */
  #latest: { readonly version: string; readonly event: Uint8Array } | undefined;
  #isDue = false;
  #isLookingUp = false;

  constructor(events: FeedEvents, name: FeedName | undefined) {
    this.events = events;
    this.name = name;
  }

  /** The last known version; a change since then is sent later. */
  get version(): string | undefined {
    return this.#isLookingUp ? undefined : this.#latest?.version;
  }

  /** Looks the feed up unless the listener has the current version and its admission needs no check. */
  add(listener: Listener): void {
    this.listeners.add(listener);
    const { version } = this;
    // The password of a feed by its name may have changed since the admission.
    if (this.name === undefined && listener.seen === version) listener.seen = version;
    else this.lookUp();
  }

  /** Looks the feed up and sends listeners its version. Calls during a look-up share the next one. */
  lookUp(): void {
    this.#isDue = true;
    if (!this.#isLookingUp) void this.#lookUpWhileDue();
  }

  endSessions(isOver: (session: Session) => boolean): void {
    if (this.name === undefined) return;
    for (const { session, stream } of this.listeners) if (session && isOver(session)) stream.end();
  }

  async #lookUpWhileDue(): Promise<void> {
    this.#isLookingUp = true;
    while (this.#isDue && this.listeners.size > 0) {
      this.#isDue = false;
      // Not those who join meanwhile, because the result may be older than what admitted them.
      const listeners = [...this.listeners];
      const { name, readId } = this;
      const { storage } = this.events;
      const found = name === undefined ? storage.feedByReadId(readId!) : storage.feed(name);
      const feed = await found.catch((error: Error) => error);
      if (this.listeners.size === 0) break;
      this.mustPoll = feed instanceof Error || (name !== undefined && feed === undefined);
      if (feed instanceof Error) continue;
      this.events.onFound(this, feed);
      await this.#notify(listeners, feed);
    }
    this.#isLookingUp = false;
  }

  async #notify(listeners: readonly Listener[], feed: Feed | undefined): Promise<void> {
    const version = this.name === undefined ? publicFeedVersion(feed) : feedVersion(feed);
    if (version !== this.#latest?.version) this.#latest = { version, event: changeEvent(version) };
    const { event } = this.#latest;
    for (const [index, listener] of listeners.entries()) {
      listener.notify(feed, version, event);
      if (index % BATCH_SIZE === BATCH_SIZE - 1) await nextTurn();
    }
  }
}

/** One open stream of a feed. Keep it small, because there may be thousands. */
class Listener implements LiveSource {
  readonly topic: Topic;
  readonly stream: LiveStream;
  readonly client: string;
  readonly session: Session | undefined;
  /** The version that the client has. */
  seen: string;
  /** `Feed.key`; undefined if there is no feed yet. */
  #key: string | undefined;
  readonly #passwordHash: string | undefined;

  constructor(topic: Topic, stream: LiveStream, { client, session, since, feed }: Subscription) {
    this.topic = topic;
    this.stream = stream;
    this.client = client;
    this.session = session;
    this.seen = since;
    this.#key = feed?.key;
    this.#passwordHash = feed?.passwordHash;
  }

  /** One by a name ends if the feed is deleted, its password changes, or a new feed with a password appears. */
  notify(feed: Feed | undefined, version: string, event: Uint8Array): void {
    const { stream } = this;
    if (this.topic.name !== undefined) {
      const isDeleted = this.#key !== undefined && feed?.key !== this.#key;
      if (isDeleted) stream.send(GONE);
      if (isDeleted || feed?.passwordHash !== this.#passwordHash) {
        stream.end();
        return;
      }
      this.#key = feed?.key;
    }
    if (this.seen !== version) stream.send(event);
    // Replace it even if it is equal: the client's value may be a slice that keeps a long header text in memory.
    this.seen = version;
  }

  closed(): void {
    this.topic.events.onClose(this);
  }
}

function topicKey(name: FeedName | undefined, readId: ReadId | undefined): string {
  return name === undefined ? `read id ${readId}` : `name ${name}`;
}

/** Browsers dispatch no event without data, so the version is its data, too. */
function changeEvent(version: string): Uint8Array {
  return Buffer.from(`event: changed\nid: ${version}\ndata: ${version}\n\n`);
}
