import { fileUrl, rssUrl } from '../../feeds/urls.ts';
import type { Json } from '../../routes/schemas.ts';
import type { Feed } from '../../storage/storage.ts';
import type { Tier } from '../../web/tier.ts';

/**
 * The record of a feed for its owner. A feed without notes has no read URL.
 * @param tier of its license; undefined if feeds need none
 */
export function feedJson(feed: Feed, base: string, tier?: Tier): Json<'Feed'> {
  const { name, readId, title, description, showSender, image, passwordHash, noteCount } = feed;
  const isEmpty = noteCount === 0;
  return {
    name,
    title,
    description,
    show_sender: showSender,
    image_url: isEmpty || image === undefined ? null : fileUrl(base, readId, image),
    protected: passwordHash !== undefined,
    read_url: isEmpty ? null : rssUrl(base, readId),
    ...(tier && { license: tier.until === undefined ? null : { until: tier.until } }),
  };
}
