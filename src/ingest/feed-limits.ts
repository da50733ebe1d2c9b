import type { Config } from '../config.ts';
import type { FeedLimits } from '../storage/storage.ts';

/** The settings that limit what a feed may hold. */
export type FeedLimitSettings = Pick<
  Config,
  'maxNotesPerFeed' | 'maxImagesPerFeed' | 'imageUploads' | 'licenseKeys'
>;

/** The texts that a feed may have without a license, where feeds need one. */
const FREE_NOTES = 1_000;

/** What a feed may hold by the settings. */
export function feedLimits({
  maxNotesPerFeed,
  maxImagesPerFeed,
  imageUploads,
  licenseKeys,
}: FeedLimitSettings): FeedLimits {
  const limits: FeedLimits = {
    notes: maxNotesPerFeed,
    images: maxImagesPerFeed,
    picturesRefused: imageUploads ? undefined : 'images_off',
  };
  if (licenseKeys === undefined) return limits;
  const notes = Math.min(FREE_NOTES, maxNotesPerFeed || FREE_NOTES);
  const picturesRefused = limits.picturesRefused ?? 'license_required';
  return { ...limits, free: { ...limits, notes, picturesRefused, isFree: true } };
}
