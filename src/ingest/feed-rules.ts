import type { Config } from '../config.ts';
import { type FeedName, isChosenReadId, type ReadId, ROUTE_NAMES } from '../feeds/names.ts';
import { Refusal } from '../refusals.ts';
import type { FeedLimits } from '../writing/limits.ts';

/** The texts of a feed without a license, if feeds need one. */
const FREE_TEXTS = 1_000;

type LimitSettings = Pick<
  Config,
  'maxNotesPerFeed' | 'maxImagesPerFeed' | 'maxBytesPerFeed' | 'imageUploads' | 'licenseKeys'
>;

/** What a feed may hold by the settings. */
export function feedLimits({
  maxNotesPerFeed,
  maxImagesPerFeed,
  maxBytesPerFeed,
  imageUploads,
  licenseKeys,
}: LimitSettings): FeedLimits {
  const limits: FeedLimits = {
    texts: maxNotesPerFeed,
    images: maxImagesPerFeed,
    bytes: maxBytesPerFeed,
    picturesRefused: imageUploads ? undefined : 'images_off',
  };
  if (licenseKeys === undefined) return limits;
  const texts = Math.min(FREE_TEXTS, maxNotesPerFeed || FREE_TEXTS);
  const picturesRefused = limits.picturesRefused ?? 'license_required';
  return { ...limits, free: { ...limits, texts, picturesRefused, isFree: true } };
}

export interface ReadIdRules {
  readonly allowCustomIds: boolean;
  readonly reservedFeeds: ReadonlySet<string>;
}

/**
 * The read id that a person chose for a feed; undefined for a random one, if the text is empty.
 * @throws Refusal `invalid_request` (contract §3, "Read id")
 */
export function chosenReadId(
  text: string,
  name: FeedName,
  { allowCustomIds, reservedFeeds }: ReadIdRules,
): ReadId | undefined {
  if (text === '') return undefined;
  if (!allowCustomIds) throw badReadId('This instance does not let read ids be chosen.');
  if (!isChosenReadId(text)) throw badReadId('A read id is 3 to 64 characters of a-z, 0-9, "-" and "_".');
  if (ROUTE_NAMES.has(text) || reservedFeeds.has(text)) throw badReadId('That read id is reserved.');
  if (text === (name as string))
    throw badReadId('The read id must differ from the name of the feed, which is its key.');
  return text;
}

function badReadId(sentence: string): Refusal {
  return new Refusal('invalid_request', sentence, { field: 'read_id' });
}

export function notProtected(): Refusal {
  return new Refusal('feed_exists', 'This feed has no password; one can only be set when a feed is made.');
}
