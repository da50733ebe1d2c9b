import type { Feed } from '../feeds/feed.ts';
import type { FeedName } from '../feeds/names.ts';
import { existing } from '../refusals.ts';
import type { FeedListPage, FeedListQuery, Storage, Totals } from '../storage/storage.ts';
import type { Identified, RecordEvent } from '../telemetry/events.ts';
import { toFeed } from '../writing/command.ts';
import { changeFeed } from './change-feed.ts';
import type { FeedSettingsWriter } from './feed-settings.ts';

interface OperatedFeedsParts {
  readonly storage: Pick<Storage, 'feed' | 'totals' | 'listFeeds' | 'write'>;
  readonly settings: Pick<FeedSettingsWriter, 'changePassword' | 'removePassword'>;
  readonly record: RecordEvent;
}

/** Feeds as the operator sees and changes them: no feed password is asked for. */
export class OperatedFeeds {
  readonly #parts: OperatedFeedsParts;

  constructor(parts: OperatedFeedsParts) {
    this.#parts = parts;
  }

  totals(): Promise<Totals> {
    return this.#parts.storage.totals();
  }

  list(query: FeedListQuery): Promise<FeedListPage> {
    return this.#parts.storage.listFeeds(query);
  }

  /** @throws Refusal `not_found` */
  async remove(name: FeedName, request: Identified): Promise<void> {
    const { storage, record } = this.#parts;
    const removed = await changeFeed(
      () => storage.feed(name),
      (feed) => storage.write({ kind: 'delete', ...toFeed(feed) }),
    );
    existing(removed, 'feed');
    record({ name: 'feed deleted', feed: name }, request);
  }

  /** Ends every unlock and every stream of the feed's events. Throws a Refusal `not_found`, `feed_exists`. */
  async changePassword(name: FeedName, password: string): Promise<void> {
    await this.#parts.settings.changePassword(await this.#feed(name), password);
  }

  /** @throws Refusal `not_found`, `feed_exists` */
  async removePassword(name: FeedName): Promise<void> {
    await this.#parts.settings.removePassword(await this.#feed(name));
  }

  async #feed(name: FeedName): Promise<Feed> {
    return existing(await this.#parts.storage.feed(name), 'feed');
  }
}
