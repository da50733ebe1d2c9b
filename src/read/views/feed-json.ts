import type { FeedName } from '../../feeds/names.ts';
import { fileUrl, rssUrl } from '../../feeds/urls.ts';
import type { Feed } from '../../storage/storage.ts';

/** The feed record of docs/specification.md, "Feed". */
export interface FeedJson {
  name: FeedName;
  title: string;
  description: string;
  show_sender: boolean;
  image_url: string | null;
  protected: boolean;
  read_url: string | null;
}

/** A feed for whoever may write to it. Without notes there is nothing to read, so no address for it. */
export function feedJson(feed: Feed, base: string): FeedJson {
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
  };
}
