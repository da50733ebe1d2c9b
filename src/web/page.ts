import { type Answer, NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import type { ScriptName } from './bundle.ts';
import { type Child, type Html, html, WRITTEN } from './html.ts';
import { MARK } from './icons.ts';
import { LEGAL_TITLES, type LegalPage, type Site, type Visitor } from './site.ts';

/**
 * Header fields of every page. The policy allows the own origin only, except for images. Other sites get no Referer,
 * because the path of a page may contain a feed's name.
 */
export const PAGE_FIELDS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src * data: blob:; connect-src 'self'; " +
    "manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  ...NOSNIFF,
};

/** `--ground` of `styles/tokens.css`: what browsers paint around the page. */
const GROUND = { light: '#f7f8f6', dark: '#101615' };

/** Header fields of pages that no cache may keep. */
export const PRIVATE_FIELDS = { ...PAGE_FIELDS, 'Cache-Control': 'private, no-store' };

/** One page, inside the frame that all pages share. */
interface Page {
  readonly title: string;
  /** What `<head>` holds beside title, style and icons. */
  readonly head?: Child;
  /** What stands in the header beside the instance's title. */
  readonly navigation?: Child;
  readonly main: Html;
  /** Search engines may list it. */
  readonly isListed?: boolean;
}

/** The whole document of a page. */
export function page(site: Site, { title, head, navigation, main, isListed = false }: Page): string {
  const { assets, root } = site;
  const legalLink = (name: LegalPage) => html`<a href="${root}/${name}">${LEGAL_TITLES[name]}</a>\n`;
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${GROUND.light}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${GROUND.dark}" media="(prefers-color-scheme: dark)">
${!isListed && html`<meta name="robots" content="noindex">`}
<title>${title === site.title ? title : `${title} · ${site.title}`}</title>
<link rel="stylesheet" href="${assets['style.css']}">
<link rel="icon" href="${assets['icon.svg']}" type="image/svg+xml">
<link rel="apple-touch-icon" href="${assets['icon-192.png']}">
<link rel="manifest" href="${root}/manifest.webmanifest">
${head}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="${root}/">${MARK}${site.title}</a>
${navigation}
${site.visitor && logOutForm(site, site.visitor)}
</header>
<main id="main" tabindex="-1">
${main}
</main>
${
  site.legalPages.length > 0 &&
  html`<footer class="bottom"><nav aria-label="About this instance">${site.legalPages.map(legalLink)}</nav></footer>`
}
<div class="toasts" id="toasts" role="status" aria-atomic="false"></div>
</body>
</html>
`);
}

/** Who is logged in, and the way out. */
function logOutForm(site: Site, { sender }: Visitor): Html {
  return html`<form class="visitor" method="post" action="${site.root}/logout" aria-label="Log out">
${sender !== undefined && html`<bdi>${sender}</bdi>`}
<button>Log out</button>
</form>
${script(site, 'leave')}`;
}

/** Starts a script once the page is parsed. */
export function script(site: Site, name: ScriptName): Html {
  return html`<script type="module" src="${site.assets[`${name}.js`]}"></script>`;
}

interface PageLink {
  readonly text: string;
  readonly url: string;
}

/**
 * Links to what is newer and older than what the page shows; nothing if there is neither.
 * @param label names them for screen readers
 */
export function pagesLinks(
  label: string,
  links: Readonly<Record<'newer' | 'older', PageLink | false>>,
): Child {
  const { newer, older } = links;
  return (
    (newer || older) &&
    html`<nav class="pages" aria-label="${label}">
${newer && html`<a rel="prev" href="${newer.url}">&larr; ${newer.text}</a>`}
${older && html`<a rel="next" href="${older.url}">${older.text} &rarr;</a>`}</nav>`
  );
}

/** The answer with a page, which no cache may keep unless `fields` say otherwise. */
export function pageAnswer(document: string, fields: Readonly<Record<string, string>> = {}): Answer {
  const body = Buffer.from(document);
  return { status: 200, headers: headers({ ...PRIVATE_FIELDS, ...fields }), body };
}

/** What a page holds that has one thing to say or to do. */
export function soleCard(heading: string, content: Child): Html {
  return html`<div class="card sole">
${MARK}
<h1>${heading}</h1>
${content}
</div>`;
}

export function legalPage(site: Site, name: LegalPage, text: Html): string {
  const title = LEGAL_TITLES[name];
  return page(site, {
    title,
    isListed: true,
    main: html`${!/<h1>/.test(String(text)) && html`<h1>${title}</h1>`}
<div class="text" ${WRITTEN}>${text}</div>`,
  });
}

/** What other sites show of a public page (https://ogp.me/), and the feed that it belongs to. */
export interface PublicHead {
  readonly type: 'website' | 'article';
  readonly title: string;
  readonly description: string;
  /** The canonical URL. */
  readonly url: string;
  /** The icon of the instance unless given. */
  readonly imageUrl: string | undefined;
  readonly base: string;
  readonly rssUrl: string;
  readonly jsonUrl: string;
}

/** The part of `<head>` for search engines, feed readers and link previews. */
export function publicHead(site: Site, of: PublicHead): Html {
  const { type, title, description, url, imageUrl, base, rssUrl, jsonUrl } = of;
  return html`<link rel="canonical" href="${url}">
<meta name="description" content="${description}">
<meta property="og:type" content="${type}">
<meta property="og:site_name" content="${site.title}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${url}">
<meta property="og:image" content="${imageUrl ?? new URL(site.assets['icon-512.png'], base).href}">
<link rel="alternate" type="application/rss+xml" title="RSS" href="${rssUrl}">
<link rel="alternate" type="application/feed+json" title="JSON Feed" href="${jsonUrl}">`;
}
