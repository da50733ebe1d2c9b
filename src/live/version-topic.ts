import type { Feed } from '../feeds/feed.ts';
import type { LiveStream } from '../http/answer.ts';
import { inTurns } from '../in-turns.ts';
import { feedVersion, publicFeedVersion } from '../read/views/document.ts';
import { BATCH_SIZE, Listener, type Subscription, Topic } from './topic.ts';

const GONE = changeEvent('0');

/** Tells listeners that the feed has another version, not what changed. */
export class VersionTopic extends Topic<VersionListener> {
  /** The last version and its event, encoded once for all listeners. */
  #latest: { readonly version: string; readonly event: Uint8Array } | undefined;

  /** The last known version; a change since then is sent later. */
  get version(): string | undefined {
    return this.isLookingUp ? undefined : this.#latest?.version;
  }

  /** Looks the feed up unless the listener has the current version and its admission needs no check. */
  override add(listener: VersionListener): void {
    const { version } = this;
    // The password of a feed by its name may have changed since the admission.
    if (this.name !== undefined || listener.seen !== version) {
      super.add(listener);
      return;
    }
    this.listeners.add(listener);
    listener.seen = version;
  }

  protected async tell(listeners: readonly VersionListener[], feed: Feed | undefined): Promise<void> {
    const version = this.name === undefined ? publicFeedVersion(feed) : feedVersion(feed);
    if (version !== this.#latest?.version) this.#latest = { version, event: changeEvent(version) };
    const { event } = this.#latest;
    await inTurns(listeners, BATCH_SIZE, (listener) => {
      if (listener.admits(feed, GONE)) listener.notify(version, event);
    });
  }
}

export class VersionListener extends Listener {
  /** The version that the client has. */
  seen: string;

  constructor(topic: VersionTopic, stream: LiveStream, subscription: Subscription, since: string) {
    super(topic, stream, subscription);
    this.seen = since;
  }

  notify(version: string, event: Uint8Array): void {
    if (this.seen !== version) this.stream.send(event);
    // Replace it even if it is equal: the client's value may be a slice that keeps a long header text in memory.
    this.seen = version;
  }
}

/** Browsers dispatch no event without data, so the version is its data, too. */
function changeEvent(version: string): Uint8Array {
  return Buffer.from(`event: changed\nid: ${version}\ndata: ${version}\n\n`);
}
