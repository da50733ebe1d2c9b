import { Refusal } from '../refusals.ts';
import type { FeedLimits } from '../storage/storage.ts';

export interface FeedLimitSettings {
  readonly maxNotesPerFeed: number;
  readonly maxImagesPerFeed: number;
  readonly imageUploads: boolean;
}

/** What a feed may hold on an instance with these settings. */
export function feedLimits(settings: FeedLimitSettings): FeedLimits {
  const { maxNotesPerFeed, maxImagesPerFeed, imageUploads } = settings;
  return {
    notes: maxNotesPerFeed,
    images: maxImagesPerFeed,
    picturesRefused: imageUploads ? undefined : 'images_off',
  };
}

/** The refusal of a picture where none may be added or replaced. */
export function picturesRefusal(code: NonNullable<FeedLimits['picturesRefused']>): Refusal {
  return new Refusal(code, 'This instance takes no pictures.');
}
