import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Feed } from '../storage/storage.ts';
import type { Listener } from './listener.ts';

/** Listeners served in one turn of the event loop. */
const BATCH_SIZE = 250;

/** A version and its event, encoded once for all listeners. */
interface VersionEvent {
  readonly version: string;
  readonly event: Uint8Array;
}

export interface TopicParts {
  readonly key: string;
  lookUp(): Promise<Feed | undefined>;
  versionOf(feed: Feed | undefined): string;
  /** Called after every look-up, before listeners get an event; with an error if the look-up failed. */
  onLookedUp(topic: Topic, feed: Feed | undefined | Error): void;
}

const GONE = changeEvent('0');

/** A feed with listeners, by its read id or its name. */
export class Topic {
  readonly key: string;
  readonly listeners = new Set<Listener>();
  readonly #parts: TopicParts;
  #latest: VersionEvent | undefined;
  #isDue = false;
  #isLookingUp = false;
  /** Joined during the running look-up. Its result may be older than what admitted them, so it says nothing to them. */
  readonly #late = new Set<Listener>();

  constructor(parts: TopicParts) {
    this.key = parts.key;
    this.#parts = parts;
  }

  /** The last known version; a change since then is sent later. */
  get version(): string | undefined {
    return this.#isLookingUp ? undefined : this.#latest?.version;
  }

  /** Looks the feed up unless the listener has the current version and needs no check (`mustLookUp`). */
  add(listener: Listener, mustLookUp: boolean): void {
    this.listeners.add(listener);
    if (this.#isLookingUp) this.#late.add(listener);
    const { version } = this;
    if (!mustLookUp && listener.seen === version) listener.seen = version;
    else this.lookUp();
  }

  /** Looks the feed up and sends listeners its version. Calls during a look-up share the next one. */
  lookUp(): void {
    this.#isDue = true;
    if (!this.#isLookingUp) void this.#lookUpWhileDue();
  }

  async #lookUpWhileDue(): Promise<void> {
    this.#isLookingUp = true;
    while (this.#isDue && this.listeners.size > 0) {
      this.#isDue = false;
      this.#late.clear();
      const feed = await this.#parts.lookUp().catch((error: Error) => error);
      if (this.listeners.size === 0) break;
      this.#parts.onLookedUp(this, feed);
      if (!(feed instanceof Error)) await this.#notify(feed);
    }
    this.#isLookingUp = false;
  }

  async #notify(feed: Feed | undefined): Promise<void> {
    const version = this.#parts.versionOf(feed);
    if (version !== this.#latest?.version) this.#latest = { version, event: changeEvent(version) };
    const { event } = this.#latest;
    let count = 0;
    for (const listener of this.listeners) {
      if (!this.#late.has(listener)) notify(listener, feed, version, event);
      count += 1;
      if (count % BATCH_SIZE === 0) await nextTurn();
    }
  }
}

function notify(listener: Listener, feed: Feed | undefined, version: string, event: Uint8Array): void {
  const { stream } = listener;
  const decision = listener.decide(feed);
  if (decision === 'keep') {
    if (listener.seen !== version) stream.send(event);
    // Replace it even if it is equal: the client's value may be a slice that keeps a long header text in memory.
    listener.seen = version;
    return;
  }
  if (decision === 'deleted') stream.send(GONE);
  stream.end();
}

/** Browsers dispatch no event without data, so the version is its data, too. */
function changeEvent(version: string): Uint8Array {
  return Buffer.from(`event: changed\nid: ${version}\ndata: ${version}\n\n`);
}
