import type { LiveSource, LiveStream } from '../http/live.ts';
import type { Feed } from '../storage/storage.ts';
import type { Topic } from './topic.ts';

/** Where listeners are counted. */
export interface ListenerHome {
  left(listener: Listener): void;
}

/** A client, and the version that it has. */
export interface Listening {
  readonly client: string;
  readonly since: string;
}

/** What becomes of a listener when its feed was looked up. */
export type Fate = 'stays' | 'deleted' | 'ends';

/** One open stream of a feed. There may be thousands, so it holds little. */
export class Listener implements LiveSource {
  readonly stream: LiveStream;
  readonly client: string;
  /** The version that the client has. */
  seen: string;
  readonly topic: Topic;
  readonly #home: ListenerHome;

  constructor(home: ListenerHome, topic: Topic, stream: LiveStream, { client, since }: Listening) {
    this.#home = home;
    this.topic = topic;
    this.stream = stream;
    this.client = client;
    this.seen = since;
  }

  /** What becomes of it now that the feed is this. */
  fate(_feed: Feed | undefined): Fate {
    return 'stays';
  }

  closed(): void {
    this.#home.left(this);
  }
}

/** A listener by the name of the feed, let in by what the feed was when its stream was opened. */
export class NamedListener extends Listener {
  /** `Feed.key`; undefined as long as there is no feed. */
  #key: string | undefined;
  readonly #passwordHash: string | undefined;

  /** @param feed by which the client was let in; undefined where there was none */
  constructor(
    home: ListenerHome,
    topic: Topic,
    stream: LiveStream,
    listening: Listening,
    feed: Feed | undefined,
  ) {
    super(home, topic, stream, listening);
    this.#key = feed?.key;
    this.#passwordHash = feed?.passwordHash;
  }

  /** It ends with the feed and with its password, and at a new feed that has one, which nobody has checked. */
  override fate(feed: Feed | undefined): Fate {
    if (feed?.key !== this.#key && this.#key !== undefined) return 'deleted';
    if (feed?.passwordHash !== this.#passwordHash) return 'ends';
    this.#key = feed?.key;
    return 'stays';
  }
}
