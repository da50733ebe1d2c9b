import type { ReadId } from '../feeds/names.ts';
import { jsonFeedUrl, rssUrl } from '../feeds/urls.ts';
import { POST_TIMEOUT_MS, PostTarget } from '../post-target.ts';
import type { Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';
import type { AnnouncementOutcome } from '../telemetry/metrics.ts';
import { Announcements } from './announcements.ts';

export interface HubParts {
  /** Base of the topics, without a trailing slash. */
  readonly publicUrl: string;
  readonly storage: Pick<Storage, 'feedByReadId'>;
  readonly log: Pick<Log, 'warn'>;
  readonly observe: ((outcome: AnnouncementOutcome) => void) | undefined;
}

/** One WebSub hub. Nothing that it does delays or breaks anything but its own announcements. */
export class Hub {
  readonly #target: PostTarget;
  readonly #parts: HubParts;
  readonly #announcements: Announcements;

  constructor(url: string, parts: HubParts) {
    this.#target = new PostTarget(url, 'the hub');
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
    await this.#target.close();
  }

  /** Tells the hub of both feeds of a read id; of none if it has no feed any more. Returns whether nothing is left to tell. */
  async #tell(readId: ReadId): Promise<boolean> {
    const { storage, publicUrl, observe } = this.#parts;
    const feed = await storage.feedByReadId(readId).catch(() => null);
    // The storage reports its own failures.
    if (feed === null) return false;
    if (feed === undefined) return true;
    const signal = AbortSignal.timeout(POST_TIMEOUT_MS);
    try {
      for (const topicUrl of [rssUrl, jsonFeedUrl]) await this.#publish(topicUrl(publicUrl, readId), signal);
      observe?.('accepted');
      return true;
    } catch (err) {
      observe?.('failed');
      const fields = { hub: this.#target.host, feed: feed.name, err };
      this.#target.report(() => this.#parts.log.warn('a WebSub hub did not take an announcement', fields));
      return false;
    }
  }

  /** Sends one announcement. Many hubs take a single topic per request, so there is one for each. */
  #publish(topic: string, signal: AbortSignal): Promise<void> {
    const form = new URLSearchParams({ 'hub.mode': 'publish', 'hub.url': topic });
    return this.#target.post(
      { 'content-type': 'application/x-www-form-urlencoded' },
      form.toString(),
      signal,
    );
  }

  #onLost(reason: 'given_up' | 'dropped'): void {
    this.#parts.observe?.(reason);
    if (reason === 'given_up') return;
    const message = 'a WebSub hub is too slow: the oldest announcements are dropped from now on';
    this.#target.reportDropped(() => this.#parts.log.warn(message, { hub: this.#target.host }));
  }
}
