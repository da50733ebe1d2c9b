import type { Caller } from '../access/access.ts';
import type { Session } from '../access/sessions.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import { type Answer, NOSNIFF } from '../http/answer.ts';
import { type Headers, headers } from '../http/headers.ts';
import type { LiveSource, LiveStream } from '../http/live.ts';
import { feedVersion, publicFeedVersion } from '../read/feed-version.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, Storage } from '../storage/storage.ts';
import { Listener, type ListenerHome, type Listening, NamedListener } from './listener.ts';
import { SessionEnds } from './session-ends.ts';
import { Topic, type TopicParts } from './topic.ts';

/** Streams that may be open at once. */
const MAX_STREAMS = 20_000;
const MAX_STREAMS_OF_CLIENT = 20;
/** How often names that no feed has are looked up, for what is told of a change does not say whose it is; in ms. */
const LOOK_INTERVAL = 500;

const RETRY_SECONDS = '15';

const START = Buffer.from('retry: 3000\n\n');
const COMMENT = Buffer.from(':\n\n');
const NOBODY: LiveSource = { closed: () => {} };

const FIELDS = {
  'Content-Type': 'text/event-stream',
  // nginx would wait until it has more.
  'X-Accel-Buffering': 'no',
  ...NOSNIFF,
};
const PUBLIC = headers({ ...FIELDS, 'Cache-Control': 'no-store' });
const PRIVATE = headers({ ...FIELDS, 'Cache-Control': 'private, no-store' });

/** Tells whoever listens to a feed that it has changed. */
export class FeedEvents implements ListenerHome {
  readonly #storage: Pick<Storage, 'feed' | 'feedByReadId'>;
  readonly #topics = new Map<string, Topic>();
  /** Whom a change of the feed with this read id concerns. */
  readonly #byReadId = new Map<ReadId, Set<Topic>>();
  /** The read id under which a topic is told of changes. */
  readonly #readIds = new Map<Topic, ReadId>();
  /** Topics of which no change tells: nobody has the name, or the look-up failed. */
  readonly #unheard = new Set<Topic>();
  readonly #streams = new Map<string, number>();
  readonly #sessionEnds = new SessionEnds();
  #count = 0;
  #hears = true;
  #looking: NodeJS.Timeout | undefined;

  constructor(storage: Pick<Storage, 'feed' | 'feedByReadId' | 'onChange' | 'onHearing'>) {
    this.#storage = storage;
    storage.onChange(({ readIds }) => {
      for (const readId of readIds) for (const topic of this.#byReadId.get(readId) ?? []) topic.look();
    });
    storage.onHearing?.((hears) => {
      this.#hears = hears;
      if (hears) for (const topic of this.#topics.values()) topic.look();
    });
  }

  /**
   * `GET /r/{read_id}/events`
   * @param since the version that the client has; undefined where it does not say, which means the one of now
   * @throws Refusal `busy`
   */
  byReadId(readId: ReadId, client: string, since: string | undefined): Answer | Promise<Answer> {
    const seen = since ?? this.#topics.get(keyOf(readId))?.version;
    if (seen !== undefined) return this.#publicAnswer(readId, { client, since: seen });
    return this.#storage
      .feedByReadId(readId)
      .then((feed) => this.#publicAnswer(readId, { client, since: publicFeedVersion(feed) }));
  }

  #publicAnswer(readId: ReadId, listening: Listening): Answer {
    return this.#answer(PUBLIC, listening, (stream, listening) => {
      const topic = this.#publicTopic(readId);
      const listener = new Listener(this, topic, stream, listening);
      topic.add(listener, false);
      return listener;
    });
  }

  /**
   * `GET /api/v1/feeds/{feed}/events` for somebody who may read the feed.
   * @param feed what that was decided by; undefined where nobody has the name yet
   * @param since as for `byReadId`
   * @throws Refusal `busy`
   */
  byName(
    name: FeedName,
    feed: Feed | undefined,
    { client, session }: Pick<Caller, 'client' | 'session'>,
    since: string | undefined,
  ): Answer {
    return this.#answer(PRIVATE, { client, since: since ?? feedVersion(feed) }, (stream, listening) => {
      const topic = this.#namedTopic(name, feed?.readId);
      const listener = new NamedListener(this, topic, stream, listening, feed);
      if (session !== undefined) this.#sessionEnds.add(stream, session);
      // Since it was decided the password may have changed.
      topic.add(listener, true);
      return listener;
    });
  }

  /** Ends the streams that were opened with this session. */
  endSession(session: Session): void {
    this.#sessionEnds.end(session);
  }

  left(listener: Listener): void {
    const { client, topic, stream } = listener;
    this.#sessionEnds.delete(stream);
    this.#count -= 1;
    const streams = this.#streams.get(client)! - 1;
    if (streams > 0) this.#streams.set(client, streams);
    else this.#streams.delete(client);
    topic.listeners.delete(listener);
    if (topic.listeners.size > 0) return;
    this.#topics.delete(topic.key);
    this.#hearOf(topic, undefined);
    this.#lookFor(topic, false);
  }

  /** The bound holds exactly, though an answer may be sent long after it was made: then the stream ends at once. */
  #answer(
    headers: Headers,
    { client, since }: Listening,
    join: (stream: LiveStream, listening: Listening) => LiveSource,
  ): Answer {
    if (!this.#hasRoomFor(client))
      throw new Refusal('busy', 'Too many event streams are open: please try again later.', {
        headers: { 'Retry-After': RETRY_SECONDS },
      });
    // What is a part of a long header would keep all of it in memory as long as the stream is open.
    const listening = { client: Buffer.from(client).toString(), since };
    const open = (stream: LiveStream) => {
      stream.send(START);
      if (!this.#hasRoomFor(client)) {
        stream.end();
        return NOBODY;
      }
      this.#count += 1;
      this.#streams.set(listening.client, (this.#streams.get(client) ?? 0) + 1);
      return join(stream, listening);
    };
    return { status: 200, headers, body: { heartbeat: COMMENT, open } };
  }

  #hasRoomFor(client: string): boolean {
    return this.#count < MAX_STREAMS && (this.#streams.get(client) ?? 0) < MAX_STREAMS_OF_CLIENT;
  }

  #publicTopic(readId: ReadId): Topic {
    return this.#topic(readId, {
      key: keyOf(readId),
      look: () => this.#storage.feedByReadId(readId),
      versionOf: publicFeedVersion,
      looked: (topic, feed) => this.#lookFor(topic, feed instanceof Error),
    });
  }

  #namedTopic(name: FeedName, readId: ReadId | undefined): Topic {
    return this.#topic(readId, {
      key: `name ${name}`,
      look: () => this.#storage.feed(name),
      versionOf: feedVersion,
      looked: (topic, feed) => {
        this.#lookFor(topic, feed === undefined || feed instanceof Error);
        if (feed instanceof Error || feed?.readId === this.#readIds.get(topic)) return;
        this.#hearOf(topic, feed?.readId);
        // It may have changed since the look-up began, which nobody has told this topic.
        if (feed !== undefined) topic.look();
      },
    });
  }

  /** The topic of that key. A new one is told of the changes of that read id. */
  #topic(readId: ReadId | undefined, parts: TopicParts): Topic {
    const known = this.#topics.get(parts.key);
    if (known !== undefined) return known;
    const topic = new Topic(parts);
    this.#topics.set(parts.key, topic);
    this.#hearOf(topic, readId);
    return topic;
  }

  /** Has a topic told of the changes of this read id from now on, and of no other. */
  #hearOf(topic: Topic, readId: ReadId | undefined): void {
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

  /** Has a topic looked up again and again, or no longer. */
  #lookFor(topic: Topic, isUnheard: boolean): void {
    if (isUnheard) this.#unheard.add(topic);
    else this.#unheard.delete(topic);
    if (this.#unheard.size > 0) this.#looking ??= setInterval(() => this.#look(), LOOK_INTERVAL).unref();
    else {
      clearInterval(this.#looking);
      this.#looking = undefined;
    }
  }

  /** While changes are not heard of, the storage can mostly not be asked either. */
  #look(): void {
    if (this.#hears) for (const topic of this.#unheard) topic.look();
  }
}

/** Names have keys of another form. */
function keyOf(readId: ReadId): string {
  return `read id ${readId}`;
}
