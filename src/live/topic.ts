import type { Session } from '../access/cookies.ts';
import type { Feed } from '../feeds/feed.ts';
import type { FeedName, ReadId } from '../feeds/names.ts';
import type { LiveSource, LiveStream } from '../http/answer.ts';
import type { FeedChange, Storage } from '../storage/storage.ts';

/** Listeners served in one turn of the event loop. */
export const BATCH_SIZE = 250;

/** Who opened a stream, and what admitted it. */
export interface Subscription {
  readonly client: string;
  /** Set if the client opened the stream by the feed's name; otherwise it did so by the read id. */
  readonly name?: FeedName | undefined;
  readonly readId: ReadId | undefined;
  /** What admitted the client; undefined for everybody, and if no feed has the name yet. */
  readonly feed?: Feed | undefined;
  /** The stream ends with it. */
  readonly session?: Session | undefined;
}

/** What topics need of the events that they belong to. */
export interface TopicOwner {
  readonly storage: Pick<Storage, 'feed' | 'feedByReadId'>;
  /** False while changes may be lost. */
  readonly receivesChanges: boolean;
  /** Follows a name to the read id of its feed, before listeners get an event. */
  onFound(topic: Topic, feed: Feed | undefined): void;
  onClose(listener: Listener): void;
}

/** A feed with listeners of one kind, by its name or, without one, by its read id. */
export abstract class Topic<L extends Listener = Listener> {
  readonly key: string;
  readonly name: FeedName | undefined;
  /** Without a name: never changes. With a name: the read id of its feed, if one is known. */
  readId: ReadId | undefined;
  readonly owner: TopicOwner;
  readonly listeners = new Set<L>();
  /** No feed has the name, or the last look-up failed. */
  mustPoll = false;
  #isDue = false;
  #isLookingUp = false;

  constructor(owner: TopicOwner, key: string, name: FeedName | undefined) {
    this.owner = owner;
    this.key = key;
    this.name = name;
  }

  protected get isLookingUp(): boolean {
    return this.#isLookingUp;
  }

  add(listener: L): void {
    this.listeners.add(listener);
    this.lookUp();
  }

  /** The feed changed; undefined if changes may have been lost. */
  changed(_change: FeedChange | undefined): void {
    this.lookUp();
  }

  /** Changes may be lost from now on, and those since `heardUntil` (`performance.now()` time) may have been. */
  changesStop(_heardUntil: number): void {}

  /** Looks the feed up and tells listeners of it. Calls during a look-up share the next one. */
  lookUp(): void {
    this.#isDue = true;
    if (!this.#isLookingUp) void this.#lookUpWhileDue();
  }

  /** Whether the feed still has the password, the read link and the setting for senders that it had when it was looked up. */
  protected async isStill({ key, readId, showSender, passwordHash }: Feed): Promise<boolean> {
    if (!this.#isDue) return true;
    if (this.listeners.size === 0) return false;
    const feed = await this.#find();
    const admits = this.name === undefined || feed?.passwordHash === passwordHash;
    return admits && feed?.key === key && feed.readId === readId && feed.showSender === showSender;
  }

  endSessions(isOver: (session: Session) => boolean): void {
    if (this.name === undefined) return;
    for (const { session, stream } of this.listeners) if (session && isOver(session)) stream.end();
  }

  /** Tells listeners of the feed as it is. After a failure it is called again. */
  protected abstract tell(listeners: readonly L[], feed: Feed | undefined): Promise<void>;

  async #lookUpWhileDue(): Promise<void> {
    this.#isLookingUp = true;
    while (this.#isDue && this.listeners.size > 0) {
      this.#isDue = false;
      // Not those who join meanwhile, because the result may be older than what admitted them.
      const listeners = [...this.listeners];
      const feed = await this.#find().catch((error: Error) => error);
      if (this.listeners.size === 0) break;
      this.mustPoll = feed instanceof Error || (this.name !== undefined && feed === undefined);
      if (feed instanceof Error) continue;
      this.owner.onFound(this, feed);
      await this.tell(listeners, feed).catch(() => {
        this.mustPoll = true;
      });
    }
    this.#isLookingUp = false;
  }

  #find(): Promise<Feed | undefined> {
    const { storage } = this.owner;
    return this.name === undefined ? storage.feedByReadId(this.readId!) : storage.feed(this.name);
  }
}

/** One open stream of a feed. Keep it small, because there may be thousands. */
export class Listener implements LiveSource {
  readonly topic: Topic;
  readonly stream: LiveStream;
  readonly client: string;
  readonly session: Session | undefined;
  /** `Feed.key`; undefined if there is no feed yet. */
  key: string | undefined;
  readonly #passwordHash: string | undefined;

  constructor(topic: Topic, stream: LiveStream, { client, session, feed }: Subscription) {
    this.topic = topic;
    this.stream = stream;
    this.client = client;
    this.session = session;
    this.key = feed?.key;
    this.#passwordHash = feed?.passwordHash;
  }

  /**
   * Whether the stream goes on. One by a name ends if the feed is deleted, its password changes, or a new feed with a password
   * appears.
   * @param last sent if the feed is deleted
   */
  admits(feed: Feed | undefined, last?: Uint8Array): boolean {
    if (this.topic.name === undefined) return true;
    const isDeleted = this.key !== undefined && feed?.key !== this.key;
    if (isDeleted && last) this.stream.send(last);
    if (isDeleted || feed?.passwordHash !== this.#passwordHash) {
      this.stream.end();
      return false;
    }
    this.key = feed?.key;
    return true;
  }

  closed(): void {
    this.topic.owner.onClose(this);
  }
}
