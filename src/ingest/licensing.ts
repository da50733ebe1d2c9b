import type { Caller } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import type { Licenses, Tier } from '../licenses/licenses.ts';
import { existing } from '../refusals.ts';
import type { Storage } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { type NewLicense, toFeed } from '../writing/command.ts';
import { type FeedLimits, limitsOf } from '../writing/limits.ts';

/** Pages warn this long before a license ends, ms. */
const SOON_MS = 14 * 24 * 60 * 60 * 1000;

interface LicensingParts {
  readonly storage: Storage;
  readonly licenses: Licenses;
  /** Includes those of the free tier. */
  readonly limits: FeedLimits;
  readonly record: RecordEvent;
}

/** Attaches and detaches licenses on a hosted instance, and tells the limits and the tier of a feed. */
export class Licensing {
  readonly #parts: LicensingParts;

  constructor(parts: LicensingParts) {
    this.#parts = parts;
  }

  /**
   * Attaches a license to a feed that the caller may write to; replaces an older one.
   * @throws Refusal `invalid_license`, `taken`, `not_found`
   */
  async attach(feed: Feed, text: string, caller: Caller): Promise<Feed> {
    const { id, feeds } = this.#parts.licenses.check(text);
    const attached = await this.#set(feed, { text, id, feeds });
    this.#parts.record({ name: 'license attached', feed: feed.name }, caller);
    return attached;
  }

  /** @throws Refusal `not_found` */
  async detach(feed: Feed, caller: Caller): Promise<void> {
    await this.#set(feed, undefined);
    this.#parts.record({ name: 'license detached', feed: feed.name }, caller);
  }

  /** The limits of a feed, or of a future one, as known now; the storage decides at the write. */
  limitsOf(feed: Feed | undefined): FeedLimits {
    const { limits, licenses } = this.#parts;
    return limitsOf(limits, feed, (license) => licenses.isValid(license));
  }

  /** The tier of a feed, or of a future one. */
  tierOf(feed: Feed | undefined): Tier {
    const { licenses, limits } = this.#parts;
    const license = feed?.license === undefined ? undefined : licenses.find(feed.license.text);
    const msLeft = license === undefined ? 0 : licenses.msLeft(license);
    return {
      until: msLeft > 0 ? license?.until : undefined,
      endsSoon: msLeft > 0 && msLeft <= SOON_MS,
      endedOn: msLeft > 0 ? undefined : license?.until,
      notes: feed === undefined ? 0 : feed.noteCount - feed.imageCount,
      freeNotes: (limits.free ?? limits).texts,
    };
  }

  async #set(feed: Feed, license: NewLicense | undefined): Promise<Feed> {
    const written = await this.#parts.storage.write({ kind: 'set license', ...toFeed(feed), license });
    return existing(written, 'feed').feed;
  }
}
