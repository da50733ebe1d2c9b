import type { Config } from '../config.ts';
import type { FeedLimits } from '../storage/storage.ts';

/** The settings that limit what a feed may hold. */
export type FeedLimitSettings = Pick<Config, 'maxNotesPerFeed' | 'maxImagesPerFeed' | 'imageUploads'>;

/** What a feed may hold by the settings. */
export function feedLimits({
  maxNotesPerFeed,
  maxImagesPerFeed,
  imageUploads,
}: FeedLimitSettings): FeedLimits {
  return {
    notes: maxNotesPerFeed,
    images: maxImagesPerFeed,
    picturesRefused: imageUploads ? undefined : 'images_off',
  };
}
