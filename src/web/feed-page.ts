import type { FeedName } from '../feeds/names.ts';
import { escapeHtml } from '../read/html.ts';
import type { Feed } from '../storage/storage.ts';
import { page } from './page.ts';

export interface FeedPage {
  readonly name: FeedName;
  /** Undefined where nobody has posted to the name yet. */
  readonly feed: Feed | undefined;
  /** The path of the instance, without a trailing slash. */
  readonly root: string;
}

/** The page at `/<feed>`. */
export function feedPage({ name, feed, root }: FeedPage): Buffer {
  const settings = `<p><a href="${escapeHtml(`${root}/${name}/settings`)}">Settings</a></p>`;
  return page(feed?.title || name, feed === undefined ? '<p>There are no notes yet.</p>' : settings);
}
