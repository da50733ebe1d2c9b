import type { LiveSource, LiveStream } from '../http/live.ts';
import type { Feed } from '../storage/storage.ts';
import type { Topic } from './topic.ts';

export interface StreamCounter {
  onClose(listener: Listener): void;
}

export interface Subscription {
  readonly client: string;
  /** The version that the client has. */
  readonly since: string;
}

/** What happens to a stream: it goes on, tells of the deletion and ends, or ends. */
export type Decision = 'keep' | 'deleted' | 'end';

/** One open stream of a feed. Keep it small, because there may be thousands. */
export class Listener implements LiveSource {
  readonly stream: LiveStream;
  readonly client: string;
  /** The version that the client has. */
  seen: string;
  readonly topic: Topic;
  readonly #counter: StreamCounter;

  constructor(counter: StreamCounter, topic: Topic, stream: LiveStream, { client, since }: Subscription) {
    this.#counter = counter;
    this.topic = topic;
    this.stream = stream;
    this.client = client;
    this.seen = since;
  }

  decide(_feed: Feed | undefined): Decision {
    return 'keep';
  }

  closed(): void {
    this.#counter.onClose(this);
  }
}

/** A listener by the feed's name, admitted by what the feed was when the stream was opened. */
export class NamedListener extends Listener {
  /** `Feed.key`; undefined if there is no feed yet. */
  #key: string | undefined;
  readonly #passwordHash: string | undefined;

  /** @param feed what admitted the client */
  constructor(
    counter: StreamCounter,
    topic: Topic,
    stream: LiveStream,
    subscription: Subscription,
    feed: Feed | undefined,
  ) {
    super(counter, topic, stream, subscription);
    this.#key = feed?.key;
    this.#passwordHash = feed?.passwordHash;
  }

  /** Ends if the feed is deleted, its password changes, or a new feed with a password appears. */
  override decide(feed: Feed | undefined): Decision {
    if (feed?.key !== this.#key && this.#key !== undefined) return 'deleted';
    if (feed?.passwordHash !== this.#passwordHash) return 'end';
    this.#key = feed?.key;
    return 'keep';
  }
}
