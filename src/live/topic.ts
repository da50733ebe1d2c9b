import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Feed } from '../feeds/feed.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import type { LiveSource, LiveStream } from '../http/live.ts';
import { feedVersion, publicFeedVersion } from '../read/views/document.ts';
import type { Storage } from '../storage/storage.ts';

/** Listeners served in one turn of the event loop. */
const BATCH_SIZE = 250;

/** A version and its event, encoded once for all listeners. */
interface VersionEvent {
  readonly version: string;
  readonly event: Uint8Array;
}

const GONE = changeEvent('0');

/** The owner of topics and listeners: reads feeds for them and learns of results. */
export interface TopicHost {
  readonly storage: Pick<Storage, 'feed' | 'feedByReadId'>;
  /** Called after every look-up, before listeners get an event; with an error if the look-up failed. */
  onLookedUp(topic: Topic, feed: Feed | undefined | Error): void;
  onClose(listener: Listener): void;
}

/** A feed with listeners, by its name or, without one, by its read id. */
export class Topic {
  readonly name: FeedName | undefined;
  /** Without a name: the topic's key, which never changes. With a name: the read id of its feed, if one is known. */
  readId: ReadId | undefined;
  readonly host: TopicHost;
  readonly listeners = new Set<Listener>();
  #latest: VersionEvent | undefined;
  #isDue = false;
  #isLookingUp = false;
  /** Joined during the running look-up. Its result may be older than what admitted them, so it says nothing to them. */
  readonly #late = new Set<Listener>();

  constructor(host: TopicHost, name: FeedName | undefined) {
    this.host = host;
    this.name = name;
  }

  /** The last known version; a change since then is sent later. */
  get version(): string | undefined {
    return this.#isLookingUp ? undefined : this.#latest?.version;
  }

  /** Looks the feed up unless the listener has the current version and its admission needs no check. */
  add(listener: Listener): void {
    this.listeners.add(listener);
    if (this.#isLookingUp) this.#late.add(listener);
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

  async #lookUpWhileDue(): Promise<void> {
    const { storage } = this.host;
    this.#isLookingUp = true;
    while (this.#isDue && this.listeners.size > 0) {
      this.#isDue = false;
      this.#late.clear();
      const found = this.name === undefined ? storage.feedByReadId(this.readId!) : storage.feed(this.name);
      const feed = await found.catch((error: Error) => error);
      if (this.listeners.size === 0) break;
      this.host.onLookedUp(this, feed);
      if (!(feed instanceof Error)) await this.#notify(feed);
    }
    this.#isLookingUp = false;
  }

  async #notify(feed: Feed | undefined): Promise<void> {
    const version = this.name === undefined ? publicFeedVersion(feed) : feedVersion(feed);
    if (version !== this.#latest?.version) this.#latest = { version, event: changeEvent(version) };
    const latest = this.#latest;
    let count = 0;
    for (const listener of this.listeners) {
      if (!this.#late.has(listener)) listener.notify(feed, latest);
      count += 1;
      if (count % BATCH_SIZE === 0) await nextTurn();
    }
  }
}

export interface Subscription {
  readonly client: string;
  /** The version that the client has. */
  readonly since: string;
  /** What admitted the client; undefined for everybody, and if no feed has the name yet. */
  readonly feed: Feed | undefined;
}

/** One open stream of a feed. Keep it small, because there may be thousands. */
export class Listener implements LiveSource {
  readonly topic: Topic;
  readonly stream: LiveStream;
  readonly client: string;
  /** The version that the client has. */
  seen: string;
  /** `Feed.key`; undefined if there is no feed yet. */
  #key: string | undefined;
  readonly #passwordHash: string | undefined;

  constructor(topic: Topic, stream: LiveStream, { client, since, feed }: Subscription) {
    this.topic = topic;
    this.stream = stream;
    this.client = client;
    this.seen = since;
    this.#key = feed?.key;
    this.#passwordHash = feed?.passwordHash;
  }

  /** One by a name ends if the feed is deleted, its password changes, or a new feed with a password appears. */
  notify(feed: Feed | undefined, { version, event }: VersionEvent): void {
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
    this.topic.host.onClose(this);
  }
}

/** Browsers dispatch no event without data, so the version is its data, too. */
function changeEvent(version: string): Uint8Array {
  return Buffer.from(`event: changed\nid: ${version}\ndata: ${version}\n\n`);
}
