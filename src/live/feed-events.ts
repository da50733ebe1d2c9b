import type { Caller } from '../access/access.ts';
import type { Session } from '../access/sessions.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import { type Answer, eventStream } from '../http/answer.ts';
import type { LiveSource, LiveStream } from '../http/live.ts';
import { feedVersion, publicFeedVersion } from '../read/views/document.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, Storage } from '../storage/storage.ts';
import { Listener, NamedListener, type StreamCounter, type Subscription } from './listener.ts';
import { SessionStreams } from './session-streams.ts';
import { Topic, type TopicParts } from './topic.ts';

/** Streams that may be open at once. */
const MAX_STREAMS = 20_000;
const MAX_STREAMS_OF_CLIENT = 20;
/** Polling interval for names without a feed: change events carry only read ids. */
const POLL_INTERVAL_MS = 500;

const RETRY_SECONDS = '15';

const START = Buffer.from('retry: 3000\n\n');
const COMMENT = Buffer.from(':\n\n');
const NO_SOURCE: LiveSource = { closed: () => {} };

/** Sends the listeners of a feed an event when it has changed. */
export class FeedEvents implements StreamCounter {
  readonly #storage: Pick<Storage, 'feed' | 'feedByReadId'>;
  readonly #topics = new Map<string, Topic>();
  /** The topics of the feed with this read id. */
  readonly #byReadId = new Map<ReadId, Set<Topic>>();
  /** The read id of a topic in `#byReadId`. */
  readonly #readIds = new Map<Topic, ReadId>();
  /** Topics that must be polled, because no feed has the name or the look-up failed. */
  readonly #polled = new Set<Topic>();
  readonly #streams = new Map<string, number>();
  readonly #sessions = new SessionStreams();
  #count = 0;
  #receivesChanges = true;
  #polling: NodeJS.Timeout | undefined;

  constructor(storage: Pick<Storage, 'feed' | 'feedByReadId' | 'onChange' | 'onFreshness'>) {
    this.#storage = storage;
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
    const seen = since ?? this.#topics.get(topicKey(readId))?.version;
    if (seen !== undefined) return this.#publicAnswer(readId, { client, since: seen });
    return this.#storage
      .feedByReadId(readId)
      .then((feed) => this.#publicAnswer(readId, { client, since: publicFeedVersion(feed) }));
  }

  #publicAnswer(readId: ReadId, subscription: Subscription): Answer {
    return this.#answer('public', subscription, (stream, subscription) => {
      const topic = this.#publicTopic(readId);
      const listener = new Listener(this, topic, stream, subscription);
      topic.add(listener, false);
      return listener;
    });
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
    since: string | undefined,
  ): Answer {
    return this.#answer('private', { client, since: since ?? feedVersion(feed) }, (stream, subscription) => {
      const topic = this.#namedTopic(name, feed?.readId);
      const listener = new NamedListener(this, topic, stream, subscription, feed);
      if (session !== undefined) this.#sessions.add(stream, session);
      // The password may have changed since the admission.
      topic.add(listener, true);
      return listener;
    });
  }

  /** Ends the streams that were opened with this session. */
  endSession(session: Session): void {
    this.#sessions.end(session);
  }

  onClose(listener: Listener): void {
    const { client, topic, stream } = listener;
    this.#sessions.delete(stream);
    this.#count -= 1;
    const streams = this.#streams.get(client)! - 1;
    if (streams > 0) this.#streams.set(client, streams);
    else this.#streams.delete(client);
    topic.listeners.delete(listener);
    if (topic.listeners.size > 0) return;
    this.#topics.delete(topic.key);
    this.#indexUnder(topic, undefined);
    this.#setPolled(topic, false);
  }

  /** The bounds are checked again when the stream opens, because an answer may be sent late. */
  #answer(
    visibility: 'public' | 'private',
    { client, since }: Subscription,
    join: (stream: LiveStream, subscription: Subscription) => LiveSource,
  ): Answer {
    if (!this.#hasRoomFor(client))
      throw new Refusal('busy', 'Too many event streams are open: please try again later.', {
        headers: { 'Retry-After': RETRY_SECONDS },
      });
    // A copy, because a slice would keep the whole header in memory while the stream is open.
    const subscription = { client: Buffer.from(client).toString(), since };
    const open = (stream: LiveStream) => {
      stream.send(START);
      if (!this.#hasRoomFor(client)) {
        stream.end();
        return NO_SOURCE;
      }
      this.#count += 1;
      this.#streams.set(subscription.client, (this.#streams.get(client) ?? 0) + 1);
      return join(stream, subscription);
    };
    return eventStream({ heartbeat: COMMENT, open }, visibility);
  }

  #hasRoomFor(client: string): boolean {
    return this.#count < MAX_STREAMS && (this.#streams.get(client) ?? 0) < MAX_STREAMS_OF_CLIENT;
  }

  #publicTopic(readId: ReadId): Topic {
    return this.#topic(readId, {
      key: topicKey(readId),
      lookUp: () => this.#storage.feedByReadId(readId),
      versionOf: publicFeedVersion,
      onLookedUp: (topic, feed) => this.#setPolled(topic, feed instanceof Error),
    });
  }

  #namedTopic(name: FeedName, readId: ReadId | undefined): Topic {
    return this.#topic(readId, {
      key: `name ${name}`,
      lookUp: () => this.#storage.feed(name),
      versionOf: feedVersion,
      onLookedUp: (topic, feed) => {
        this.#setPolled(topic, feed === undefined || feed instanceof Error);
        if (feed instanceof Error || feed?.readId === this.#readIds.get(topic)) return;
        this.#indexUnder(topic, feed?.readId);
        // It may have changed since the look-up began, unnoticed by this topic.
        if (feed !== undefined) topic.lookUp();
      },
    });
  }

  #topic(readId: ReadId | undefined, parts: TopicParts): Topic {
    const known = this.#topics.get(parts.key);
    if (known !== undefined) return known;
    const topic = new Topic(parts);
    this.#topics.set(parts.key, topic);
    this.#indexUnder(topic, readId);
    return topic;
  }

  /** From now on changes of this read id, and no other, concern the topic. */
  #indexUnder(topic: Topic, readId: ReadId | undefined): void {
    const before = this.#readIds.get(topic);
    if (before !== undefined) {
      const topics = this.#byReadId.get(before)!;
      topics.delete(topic);
      if (topics.size === 0) this.#byReadId.delete(before);
      this.#readIds.delete(topic);
    }
    if (readId === undefined) return;
    this.#readIds.set(topic, readId);
    const topics = this.#byReadId.get(readId);
    if (topics === undefined) this.#byReadId.set(readId, new Set([topic]));
    else topics.add(topic);
  }

  /** Starts or stops polling a topic. */
  #setPolled(topic: Topic, isPolled: boolean): void {
    if (isPolled) this.#polled.add(topic);
    else this.#polled.delete(topic);
    if (this.#polled.size > 0) this.#polling ??= setInterval(() => this.#poll(), POLL_INTERVAL_MS).unref();
    else {
      clearInterval(this.#polling);
      this.#polling = undefined;
    }
  }

  /** While changes are not received, the storage mostly cannot be asked either. */
  #poll(): void {
    if (this.#receivesChanges) for (const topic of this.#polled) topic.lookUp();
  }
}

/** Names have keys of another form. */
function topicKey(readId: ReadId): string {
  return `read id ${readId}`;
}
