import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** What other sites show of a page that somebody shares (https://ogp.me/). */
export interface Shared {
  readonly type: 'website' | 'article';
  readonly title: string;
  readonly description: string;
  /** The one address of the page, absolute. */
  readonly url: string;
  readonly imageUrl: string | undefined;
}

/** The part of `<head>` that is for search engines and for sites where the page is shared. */
export function sharedHead(site: Site, { type, title, description, url, imageUrl }: Shared): Html {
  return html`<link rel="canonical" href="${url}">
<meta name="description" content="${description}">
<meta property="og:type" content="${type}">
<meta property="og:site_name" content="${site.title}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${url}">
${imageUrl !== undefined && html`<meta property="og:image" content="${imageUrl}">`}`;
}
