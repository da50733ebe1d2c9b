import type { ReadId } from '../feeds/names.ts';
import { jsonFeedUrl, rssUrl } from '../feeds/urls.ts';
import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** What other sites show of a public page (https://ogp.me/), and the feed that it belongs to. */
interface PublicHead {
  readonly type: 'website' | 'article';
  readonly title: string;
  readonly description: string;
  /** The canonical URL. */
  readonly url: string;
  readonly imageUrl: string | undefined;
  readonly base: string;
  readonly readId: ReadId;
  readonly tag?: string | undefined;
}

/** The part of `<head>` for search engines, feed readers and link previews. */
export function publicHead(site: Site, of: PublicHead): Html {
  const { type, title, description, url, imageUrl, base, readId, tag } = of;
  return html`<link rel="canonical" href="${url}">
<meta name="description" content="${description}">
<meta property="og:type" content="${type}">
<meta property="og:site_name" content="${site.title}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${url}">
${imageUrl !== undefined && html`<meta property="og:image" content="${imageUrl}">`}
<link rel="alternate" type="application/rss+xml" title="RSS" href="${rssUrl(base, readId, tag)}">
<link rel="alternate" type="application/feed+json" title="JSON Feed" href="${jsonFeedUrl(base, readId, tag)}">`;
}
