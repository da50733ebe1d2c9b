import type { Feed } from '../../feeds/feed.ts';
import { isReadId } from '../../feeds/names.ts';
import { fileUrl, rssUrl } from '../../feeds/urls.ts';
import type { Tier } from '../../licenses/licenses.ts';
import type { Json } from '../../schemas.ts';

/**
 * The record of a feed for its owner. A feed without notes or without a read link has no read URL.
 * @param tier of its license; undefined if feeds need none
 */
export function feedJson(feed: Feed, base: string, tier?: Tier): Json<'Feed'> {
  const { name, readId, title, description, showSender, listed, image, passwordHash, noteCount } = feed;
  const { keepDays: days, keepNotes: notes } = feed;
  const isRead = noteCount > 0 && isReadId(readId);
  return {
    name,
    title,
    description,
    show_sender: showSender,
    listed,
    image_url: isRead && image !== undefined ? fileUrl(base, readId, image) : null,
    protected: passwordHash !== undefined,
    read_url: isRead ? rssUrl(base, readId) : null,
    keep: (days ?? notes) === undefined ? null : { days, notes },
    ...licenseJson(tier),
  };
}

/** The license of a feed in JSON; nothing if feeds need none. */
export function licenseJson(tier: Tier | undefined): Pick<Json<'Feed'>, 'license'> {
  return tier === undefined ? {} : { license: tier.until === undefined ? null : { until: tier.until } };
}
