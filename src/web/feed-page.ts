import type { FeedName } from '../feeds/names.ts';
import type { Feed } from '../storage/storage.ts';
import { composeBox } from './compose-box.ts';
import { html } from './html.ts';
import { page } from './page.ts';
import type { Site } from './site.ts';

export interface FeedPage {
  readonly name: FeedName;
  /** Undefined where nobody has posted to the name yet. */
  readonly feed: Feed | undefined;
  /** Absolute base of links. */
  readonly base: string;
}

/** The page at `/<feed>`. */
export function feedPage(site: Site, { name, feed, base }: FeedPage): Buffer {
  const hasNotes = feed !== undefined && feed.noteCount > 0;
  const isProtected = feed?.passwordHash !== undefined;
  return page(site, {
    title: feed?.title || name,
    navigation:
      hasNotes &&
      html`<nav aria-label="This feed"><a href="${site.root}/${name}/settings">Settings</a></nav>`,
    main: html`<h1>${feed?.title || name}</h1>
${composeBox(site, { base, name, isProtected, exists: feed !== undefined, hasNotes })}`,
  });
}
