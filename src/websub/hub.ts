import { Agent } from 'undici';
import type { ReadId } from '../feeds/names.ts';
import { jsonFeedUrl, rssUrl } from '../feeds/urls.ts';
import type { Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';
import { Announcements } from './announcements.ts';

/** Time limit of an announcement, ms. */
const TIMEOUT_MS = 10_000;
/** The most that is read of an answer, bytes. A connection with more to read is closed. */
const MAX_ANSWER_BYTES = 4 * 1024;
/** Shortest time between two lines about failures of a hub, ms. */
const QUIET_MS = 10 * 60_000;

/** What became of an attempt to tell a hub of a feed, or of a change that it was not told. */
export type AnnouncementOutcome = 'accepted' | 'failed' | 'given_up' | 'dropped';

export interface HubParts {
  /** Base of the topics, without a trailing slash. */
  readonly publicUrl: string;
  readonly storage: Pick<Storage, 'feedByReadId'>;
  readonly log: Pick<Log, 'warn'>;
  readonly observe: ((outcome: AnnouncementOutcome) => void) | undefined;
}

/** One WebSub hub. Nothing that it does delays or breaks anything but its own announcements. */
export class Hub {
  readonly #url: URL;
  readonly #parts: HubParts;
  readonly #announcements: Announcements;
  readonly #agent = new Agent({ allowH2: false, connect: { timeout: TIMEOUT_MS } });
  #hasDropped = false;
  /** No line about failures before this time, ms of the monotonic clock. */
  #quietUntil = 0;

  constructor(url: string, parts: HubParts) {
    this.#url = new URL(url);
    this.#parts = parts;
    this.#announcements = new Announcements({
      tell: (readId) => this.#tell(readId),
      onLost: (reason) => this.#onLost(reason),
    });
  }

  /** Tells the hub soon that a feed has changed. */
  announce(readId: ReadId): void {
    this.#announcements.add(readId);
  }

  /** Tells what it can within a second, and closes all connections. */
  async stop(): Promise<void> {
    await this.#announcements.stop();
    await this.#agent.destroy();
  }

  /** Tells the hub of both feeds of a read id; of none if it has no feed any more. Returns whether nothing is left to tell. */
  async #tell(readId: ReadId): Promise<boolean> {
    const { storage, publicUrl, observe } = this.#parts;
    const feed = await storage.feedByReadId(readId).catch(() => null);
    // The storage reports its own failures.
    if (feed === null) return false;
    if (feed === undefined) return true;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      for (const topicUrl of [rssUrl, jsonFeedUrl]) await this.#publish(topicUrl(publicUrl, readId), signal);
      observe?.('accepted');
      return true;
    } catch (err) {
      observe?.('failed');
      if (performance.now() >= this.#quietUntil) {
        this.#quietUntil = performance.now() + QUIET_MS;
        const fields = { hub: this.#url.host, feed: feed.name, err };
        this.#parts.log.warn('a WebSub hub did not take an announcement', fields);
      }
      return false;
    }
  }

  /**
   * Sends one announcement. Many hubs take a single topic per request, so there is one for each. Redirects are not followed, because
   * they could lead into the network of the instance.
   */
  async #publish(topic: string, signal: AbortSignal): Promise<void> {
    const { origin, pathname } = this.#url;
    const { statusCode, body } = await this.#agent.request({
      origin,
      path: pathname,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ 'hub.mode': 'publish', 'hub.url': topic }).toString(),
      signal,
    });
    // The status says all; reading the rest lets the connection be used again.
    await body.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => {});
    if (statusCode < 200 || statusCode > 299) throw new Error(`the hub answered ${statusCode}`);
  }

  #onLost(reason: 'given_up' | 'dropped'): void {
    this.#parts.observe?.(reason);
    if (reason === 'given_up' || this.#hasDropped) return;
    this.#hasDropped = true;
    const message = 'a WebSub hub is too slow: the oldest announcements are dropped from now on';
    this.#parts.log.warn(message, { hub: this.#url.host });
  }
}
