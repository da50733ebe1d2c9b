import type { Caller } from '../access/access.ts';
import type { Session } from '../access/cookies.ts';
import type { Feed } from '../feeds/feed.ts';
import { type FeedName, isNoteId, type NoteId, type ReadId } from '../feeds/names.ts';
import { type Answer, type LiveSource, type LiveStream, liveAnswer } from '../http/answer.ts';
import type { Reader } from '../read/reader.ts';
import { feedVersion, publicFeedVersion } from '../read/views/document.ts';
import { Refusal } from '../refusals.ts';
import { BEFORE_ALL } from '../storage/arrivals.ts';
import type { Storage } from '../storage/storage.ts';
import { BEGINNING, HEARTBEATS, type StreamFormat, startOf } from './note-events.ts';
import { lastArrival, NoteListener, type NoteStreamOptions, NoteTopic } from './note-topic.ts';
import type { Listener, Subscription, Topic, TopicOwner } from './topic.ts';
import { VersionListener, VersionTopic } from './version-topic.ts';

/** Streams that may be open at once. */
const MAX_STREAMS = 20_000;
const MAX_STREAMS_OF_CLIENT = 20;
const RETRY_SECONDS = 15;
/** Interval for looking up names without a feed, because change events carry only read ids, and for ending sessions. */
const TICK_MS = 500;
/** The longest note id that a client may say it has. */
const MAX_ID_LENGTH = 300;

const START = startOf('events', undefined);

type EventStorage = Pick<Storage, 'feed' | 'feedByReadId' | 'arrivals'>;

/** A client's request for a stream of notes: the format, the base of links, and the last note that the client has. */
export interface NoteStreamRequest extends Pick<NoteStreamOptions, 'format' | 'base'> {
  readonly since: string | undefined;
}

/** How a stream begins, and what listens for it. */
interface Opening {
  readonly format: StreamFormat;
  readonly start: Uint8Array;
  listen(stream: LiveStream, subscription: Subscription): Listener;
}

/** Sends the listeners of a feed an event when it has changed. */
export class FeedEvents implements TopicOwner {
  readonly storage: EventStorage;
  receivesChanges = true;
  readonly #reader: Pick<Reader, 'eventNote'>;
  readonly #topics = new Map<string, Topic>();
  /** The topics of the feed with this read id. */
  readonly #byReadId = new Map<ReadId, Set<Topic>>();
  /** How many streams each client has. */
  readonly #streams = new Map<string, number>();
  #count = 0;
  #ticking: NodeJS.Timeout | undefined;

  constructor(
    storage: EventStorage & Pick<Storage, 'onChange' | 'onFreshness'>,
    reader: Pick<Reader, 'eventNote'>,
  ) {
    this.storage = storage;
    this.#reader = reader;
    storage.onChange((change) => {
      for (const readId of new Set(change.readIds))
        for (const topic of this.#byReadId.get(readId) ?? []) topic.changed(change);
    });
    storage.onFreshness?.((isFresh, heardUntil) => {
      this.receivesChanges = isFresh;
      for (const topic of this.#topics.values())
        if (isFresh) topic.changed(undefined);
        else topic.changesStop(heardUntil);
    });
  }

  /**
   * `GET /r/{read_id}/events`
   * @param since the version that the client has; the current one if undefined
   * @throws Refusal `busy`
   */
  async byReadId(readId: ReadId, client: string, since: string | undefined): Promise<Answer> {
    const topic = this.#topics.get(topicKey('versions', undefined, readId)) as VersionTopic | undefined;
    const known = since ?? topic?.version;
    const version = known ?? publicFeedVersion(await this.storage.feedByReadId(readId));
    return this.#answer({ client, readId }, this.#versions(version));
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
    return this.#answer({ client, name, readId: feed?.readId, feed, session }, this.#versions(since));
  }

  /**
   * `GET /r/{read_id}/events` with notes
   * @throws Refusal `busy`
   */
  async notesByReadId(readId: ReadId, client: string, asked: NoteStreamRequest): Promise<Answer> {
    this.#mustHaveRoomFor(client);
    const feed = await this.storage.feedByReadId(readId);
    return this.#answer({ client, readId }, await this.#notes(feed, asked));
  }

  /**
   * `GET /api/v1/feeds/{feed}/events` with notes, as `byName`
   * @throws Refusal `busy`
   */
  async notesByName(
    name: FeedName,
    feed: Feed | undefined,
    { client, session }: Pick<Caller, 'client' | 'session'>,
    asked: NoteStreamRequest,
  ): Promise<Answer> {
    this.#mustHaveRoomFor(client);
    return this.#answer(
      { client, name, readId: feed?.readId, feed, session },
      await this.#notes(feed, asked),
    );
  }

  /**
   * Ends the streams that were opened with this session, for a logout. Other processes do not learn of it: there a stream
   * stays until its page is left.
   */
  endSession({ id }: Session): void {
    for (const topic of this.#topics.values()) topic.endSessions((session) => session.id === id);
  }

  #versions(since: string): Opening {
    return {
      format: 'events',
      start: START,
      listen: (stream, subscription) => {
        const topic = this.#topicOf('versions', subscription, (key) => {
          return new VersionTopic(this, key, subscription.name);
        });
        return joined(topic, new VersionListener(topic, stream, subscription, since));
      },
    };
  }

  /** Finds the place before the answer begins, so that a client misses nothing that comes after the beginning. */
  async #notes(feed: Feed | undefined, { since, format, base }: NoteStreamRequest): Promise<Opening> {
    const last = since === undefined ? await lastArrival(this.storage, feed) : undefined;
    const place = last ?? placeOf(since);
    return {
      format,
      start: startOf(format, last),
      listen: (stream, subscription) => {
        const topic = this.#topicOf('notes', subscription, (key) => {
          return new NoteTopic(this, { storage: this.storage, reader: this.#reader }, key, subscription.name);
        });
        return joined(topic, new NoteListener(topic, stream, subscription, { format, base, since: place }));
      },
    };
  }

  #mustHaveRoomFor(client: string): void {
    if (this.#hasRoomFor(client)) return;
    throw new Refusal('busy', 'Too many event streams are open: please try again later.', {
      retryAfter: RETRY_SECONDS,
    });
  }

  /** The bounds are checked again when the stream opens, because an answer may be sent late. */
  #answer(asked: Subscription, { format, start, listen }: Opening): Answer {
    this.#mustHaveRoomFor(asked.client);
    // A copy, because a slice would keep the whole header in memory while the stream is open.
    const subscription = { ...asked, client: Buffer.from(asked.client).toString() };
    const open = (stream: LiveStream): LiveSource => {
      stream.send(start);
      if (this.#hasRoomFor(subscription.client)) {
        this.#countStream(subscription.client);
        return listen(stream, subscription);
      }
      stream.end();
      return { closed: () => {} };
    };
    return liveAnswer({ heartbeat: HEARTBEATS[format], open }, format, asked.name === undefined);
  }

  #hasRoomFor(client: string): boolean {
    return this.#count < MAX_STREAMS && (this.#streams.get(client) ?? 0) < MAX_STREAMS_OF_CLIENT;
  }

  #countStream(client: string): void {
    this.#count += 1;
    this.#streams.set(client, (this.#streams.get(client) ?? 0) + 1);
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** The topic for a subscription, made unless somebody listens already. */
  #topicOf<T extends Topic>(
    kind: 'versions' | 'notes',
    { name, readId }: Subscription,
    make: (key: string) => T,
  ): T {
    const key = topicKey(kind, name, readId);
    const known = this.#topics.get(key);
    if (known) return known as T;
    const topic = make(key);
    this.#topics.set(key, topic);
    this.#indexUnder(topic, readId);
    return topic;
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
    this.#topics.delete(topic.key);
    this.#indexUnder(topic, undefined);
  }

  onFound(topic: Topic, feed: Feed | undefined): void {
    if (topic.name === undefined || feed?.readId === topic.readId) return;
    const isUnnamed = topic.readId !== undefined;
    this.#indexUnder(topic, feed?.readId);
    // It may have changed since it got this read id, or since the look-up began, unnoticed by this topic.
    if (feed !== undefined) topic.changed({ readIds: [feed.readId], isUnnamed });
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
      if (topic.mustPoll && this.receivesChanges) topic.lookUp();
      topic.endSessions(({ until }) => until <= now);
    }
  }
}

/** The place that a client says it has; undefined if there is none. */
function placeOf(since: string | undefined): NoteStreamOptions['since'] {
  if (since === BEGINNING) return BEFORE_ALL;
  if (since === undefined || since.length > MAX_ID_LENGTH || !isNoteId(since)) return undefined;
  // A copy, because a slice would keep the whole header in memory while the stream is open.
  return Buffer.from(since).toString() as NoteId;
}

function joined<L extends Listener>(topic: Topic<L>, listener: L): L {
  topic.add(listener);
  return listener;
}

function topicKey(
  kind: 'versions' | 'notes',
  name: FeedName | undefined,
  readId: ReadId | undefined,
): string {
  return name === undefined ? `${kind} read id ${readId}` : `${kind} name ${name}`;
}
