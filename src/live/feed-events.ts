import type { Caller } from '../access/access.ts';
import type { Session } from '../access/sessions.ts';
import type { Feed } from '../feeds/feed.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import { type Answer, eventStream } from '../http/answer.ts';
import type { LiveSource, LiveStream } from '../http/live.ts';
import { feedVersion, publicFeedVersion } from '../read/views/document.ts';
import { Refusal } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import { Listener, type Subscription, Topic, type TopicHost } from './topic.ts';

/** Streams that may be open at once. */
const MAX_STREAMS = 20_000;
const MAX_STREAMS_OF_CLIENT = 20;
/** Interval for looking up names without a feed, because change events carry only read ids, and for ending sessions. */
const TICK_MS = 500;

const RETRY_SECONDS = 15;

const START = Buffer.from('retry: 3000\n\n');
const COMMENT = Buffer.from(':\n\n');
const NO_SOURCE: LiveSource = { closed: () => {} };

/** A feed by its read id or, for a client that may read it, by its name. */
interface Place {
  readonly readId: ReadId | undefined;
  readonly name?: FeedName;
  readonly session?: Session | undefined;
}

/** Sends the listeners of a feed an event when it has changed. */
export class FeedEvents implements TopicHost {
  readonly storage: Pick<Storage, 'feed' | 'feedByReadId'>;
  readonly #topics = new Map<string, Topic>();
  /** The topics of the feed with this read id. */
  readonly #byReadId = new Map<ReadId, Set<Topic>>();
  /** Topics that must be polled, because no feed has the name or the look-up failed. */
  readonly #polled = new Set<Topic>();
  /** How many streams each client has. */
  readonly #streams = new Map<string, number>();
  /** Sessions that opened streams, which end with them. */
  readonly #sessions = new Map<LiveStream, Session>();
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
  byReadId(readId: ReadId, client: string, since: string | undefined): Answer | Promise<Answer> {
    const seen = since ?? this.#topics.get(topicKey(readId, undefined))?.version;
    const answer = (since: string) => this.#answer({ readId }, { client, since, feed: undefined });
    if (seen !== undefined) return answer(seen);
    return this.storage.feedByReadId(readId).then((feed) => answer(publicFeedVersion(feed)));
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
    return this.#answer({ name, session, readId: feed?.readId }, { client, since, feed });
  }

  /**
   * Ends the streams that were opened with this session, for a logout. Other processes do not learn of it: there a stream
   * stays until its page is left.
   */
  endSession({ id }: Session): void {
    this.#endStreams((session) => session.id === id);
  }

  onLookedUp(topic: Topic, feed: Feed | undefined | Error): void {
    const isUnknown = topic.name !== undefined && feed === undefined;
    if (isUnknown || feed instanceof Error) this.#polled.add(topic);
    else this.#polled.delete(topic);
    if (topic.name === undefined || feed instanceof Error || feed?.readId === topic.readId) return;
    this.#indexUnder(topic, feed?.readId);
    // It may have changed since the look-up began, unnoticed by this topic.
    if (feed !== undefined) topic.lookUp();
  }

  onClose(listener: Listener): void {
    const { client, topic, stream } = listener;
    this.#sessions.delete(stream);
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
    this.#topics.delete(topicKey(topic.readId, topic.name));
    this.#indexUnder(topic, undefined);
    this.#polled.delete(topic);
  }

  /** The bounds are checked again when the stream opens, because an answer may be sent late. */
  #answer({ readId, name, session }: Place, { client: sent, since, feed }: Subscription): Answer {
    if (!this.#hasRoomFor(sent))
      throw new Refusal('busy', 'Too many event streams are open: please try again later.', {
        retryAfter: RETRY_SECONDS,
      });
    // A copy, because a slice would keep the whole header in memory while the stream is open.
    const client = Buffer.from(sent).toString();
    const open = (stream: LiveStream) => {
      stream.send(START);
      if (!this.#hasRoomFor(client)) {
        stream.end();
        return NO_SOURCE;
      }
      this.#count += 1;
      this.#streams.set(client, (this.#streams.get(client) ?? 0) + 1);
      this.#ticking ??= setInterval(() => this.#tick(), TICK_MS).unref();
      if (session !== undefined) this.#sessions.set(stream, session);
      const topic = this.#topic(readId, name);
      const listener = new Listener(topic, stream, { client, since, feed });
      topic.add(listener);
      return listener;
    };
    return eventStream({ heartbeat: COMMENT, open }, name === undefined ? 'public' : 'private');
  }

  #hasRoomFor(client: string): boolean {
    return this.#count < MAX_STREAMS && (this.#streams.get(client) ?? 0) < MAX_STREAMS_OF_CLIENT;
  }

  #topic(readId: ReadId | undefined, name: FeedName | undefined): Topic {
    const key = topicKey(readId, name);
    const known = this.#topics.get(key);
    if (known !== undefined) return known;
    const topic = new Topic(this, name);
    this.#topics.set(key, topic);
    this.#indexUnder(topic, readId);
    return topic;
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
    // While changes are not received, the storage mostly cannot be asked either.
    if (this.#receivesChanges) for (const topic of this.#polled) topic.lookUp();
    const now = Date.now();
    this.#endStreams(({ until }) => until <= now);
  }

  #endStreams(isOver: (session: Session) => boolean): void {
    for (const [stream, session] of this.#sessions) if (isOver(session)) stream.end();
  }
}

function topicKey(readId: ReadId | undefined, name: FeedName | undefined): string {
  return name === undefined ? `read id ${readId}` : `name ${name}`;
}
