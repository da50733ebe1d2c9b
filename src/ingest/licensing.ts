import type { Caller } from '../access/access.ts';
import type { Licenses } from '../licenses/licenses.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, FeedLimits, Storage } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { Tier } from '../web/tier.ts';

/** A license that ends within this time is warned of, ms. */
const SOON_MS = 14 * 24 * 60 * 60 * 1000;

export interface LicensingParts {
  readonly storage: Storage;
  readonly licenses: Licenses;
  /** What feeds may hold, with the free tier. */
  readonly limits: FeedLimits;
  readonly record: RecordEvent;
}

/** The way in for licenses, on a hosted instance; and what a feed may do by the one it has. */
export class Licensing {
  readonly #parts: LicensingParts;

  constructor(parts: LicensingParts) {
    this.#parts = parts;
  }

  /**
   * Attaches a license to a feed that the caller may write to, in place of the one it has.
   * @throws Refusal `invalid_license`, `taken`, `not_found`
   */
  async attach(feed: Feed, text: string, caller: Caller): Promise<Feed> {
    const { id, feeds } = this.#parts.licenses.check(text);
    const attached = await this.#set(feed, { text, id, feeds });
    this.#parts.record({ name: 'license attached' }, caller);
    return attached;
  }

  /** @throws Refusal `not_found` */
  async detach(feed: Feed, caller: Caller): Promise<void> {
    await this.#set(feed, undefined);
    this.#parts.record({ name: 'license detached' }, caller);
  }

  /** What a feed, or one that is not made yet, may hold as things stand; the storage decides when it is written. */
  limitsOf(feed: Feed | undefined): FeedLimits {
    const { limits, licenses } = this.#parts;
    const isLicensed = feed?.license !== undefined && licenses.isValid(feed.license);
    return isLicensed ? limits : (limits.free ?? limits);
  }

  /** How a feed, or one that is not made yet, stands. */
  tierOf(feed: Feed | undefined): Tier {
    const { licenses } = this.#parts;
    const license = feed?.license === undefined ? undefined : licenses.find(feed.license);
    const msLeft = license === undefined ? 0 : licenses.msLeft(license);
    return {
      until: msLeft > 0 ? license?.until : undefined,
      endsSoon: msLeft > 0 && msLeft <= SOON_MS,
      endedOn: msLeft > 0 ? undefined : license?.until,
      notes: feed === undefined ? 0 : feed.noteCount - feed.imageCount,
    };
  }

  async #set(feed: Feed, license: Parameters<Storage['setLicense']>[1]): Promise<Feed> {
    const changed = await this.#parts.storage.setLicense(feed, license);
    if (changed === undefined) throw new Refusal('not_found', 'There is no such feed.');
    return changed;
  }
}
