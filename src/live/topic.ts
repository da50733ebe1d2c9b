import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Feed } from '../storage/storage.ts';
import type { Listener } from './listener.ts';

/** So many listeners are told in one turn of the event loop. */
const TOLD_AT_ONCE = 250;

/** A version and its event, encoded once for all listeners. */
interface Told {
  readonly version: string;
  readonly event: Uint8Array;
}

/** What a topic is about, and who is to know when it was looked up. */
export interface TopicParts {
  /** Tells it from all others. */
  readonly key: string;
  look(): Promise<Feed | undefined>;
  versionOf(feed: Feed | undefined): string;
  /** Called after every look-up, before anybody is told. `feed` is an error where it failed. */
  looked(topic: Topic, feed: Feed | undefined | Error): void;
}

const GONE = changed('0');

/** A feed that somebody listens to, by its read id or its name. */
export class Topic {
  readonly key: string;
  readonly listeners = new Set<Listener>();
  readonly #parts: TopicParts;
  #told: Told | undefined;
  #isDue = false;
  #isLooking = false;
  /** Listeners that came after the look-up that runs had begun: they were let in by what may be newer. */
  readonly #late = new Set<Listener>();

  constructor(parts: TopicParts) {
    this.key = parts.key;
    this.#parts = parts;
  }

  /** The version of the feed, where it is known; a change that it does not show yet is told to listeners later. */
  get version(): string | undefined {
    return this.#isLooking ? undefined : this.#told?.version;
  }

  /** Looks the feed up for a listener, unless it is known that it has the newest version, and that is all to be known. */
  add(listener: Listener, mustLook: boolean): void {
    this.listeners.add(listener);
    if (this.#isLooking) this.#late.add(listener);
    const { version } = this;
    if (!mustLook && listener.seen === version) listener.seen = version;
    else this.look();
  }

  /** Looks the feed up and tells who has another version: one look-up at a time, and one more for all that came meanwhile. */
  look(): void {
    this.#isDue = true;
    if (!this.#isLooking) void this.#lookWhileDue();
  }

  async #lookWhileDue(): Promise<void> {
    this.#isLooking = true;
    while (this.#isDue && this.listeners.size > 0) {
      this.#isDue = false;
      this.#late.clear();
      const feed = await this.#parts.look().catch((error: Error) => error);
      if (this.listeners.size === 0) break;
      this.#parts.looked(this, feed);
      if (!(feed instanceof Error)) await this.#tell(feed);
    }
    this.#isLooking = false;
  }

  async #tell(feed: Feed | undefined): Promise<void> {
    const version = this.#parts.versionOf(feed);
    if (version !== this.#told?.version) this.#told = { version, event: changed(version) };
    const { event } = this.#told;
    let count = 0;
    for (const listener of this.listeners) {
      if (!this.#late.has(listener)) tell(listener, feed, version, event);
      count += 1;
      if (count % TOLD_AT_ONCE === 0) await nextTurn();
    }
  }
}

function tell(listener: Listener, feed: Feed | undefined, version: string, event: Uint8Array): void {
  const { stream } = listener;
  const fate = listener.fate(feed);
  if (fate === 'stays') {
    if (listener.seen !== version) stream.send(event);
    // Replace it even if it is equal: the client's value may be a slice that keeps a long header text in memory.
    listener.seen = version;
    return;
  }
  if (fate === 'deleted') stream.send(GONE);
  stream.end();
}

/** An event without data is not dispatched, so the version is there, too. */
function changed(version: string): Uint8Array {
  return Buffer.from(`event: changed\nid: ${version}\ndata: ${version}\n\n`);
}
