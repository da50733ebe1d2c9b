import type { ReadId } from '../feeds/names.ts';
import { jsonFeedUrl, rssUrl } from '../feeds/urls.ts';
import { type Answer, NOSNIFF, refusalAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import type { Refusal } from '../refusals.ts';
import type { ScriptName } from './assets.ts';
import { type Child, type Html, html } from './html.ts';
import { LEGAL_TITLES, type LegalPage, type Site } from './site.ts';

/**
 * Header fields of every page. The policy allows the own origin only, except for images. Other sites get no Referer,
 * because the path of a page may contain a feed's name.
 */
export const PAGE_FIELDS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src * data: blob:; connect-src 'self'; " +
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  ...NOSNIFF,
};

const VARY = headers({ Vary: 'Accept' });
const PRIVATE_FIELDS = { ...PAGE_FIELDS, 'Cache-Control': 'private, no-store' };

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
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
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
<header class="site">
<a class="brand" href="${root}/">${site.title}</a>
${navigation}
</header>
<main id="main" tabindex="-1">
${main}
</main>
${
  site.legalPages.length > 0 &&
  html`<footer class="site"><nav aria-label="About this instance">${site.legalPages.map(legalLink)}</nav></footer>`
}
</body>
</html>
`);
}

/** Starts a script once the page is parsed. */
export function script(site: Site, name: ScriptName): Html {
  return html`<script type="module" src="${site.assets[`${name}.js`]}"></script>`;
}

/** The answer with a page, which no cache may keep unless `fields` say otherwise. */
export function pageAnswer(document: string, fields: Readonly<Record<string, string>> = {}): Answer {
  const body = Buffer.from(document);
  return { status: 200, headers: headers({ ...PRIVATE_FIELDS, ...fields }), body };
}

/**
 * The answer to a refused request for a page: a page for a client that asks for HTML, else JSON (contract §8).
 * @param document shown instead of the plain message
 */
export function errorPage(site: Site, refusal: Refusal, exchange: Exchange, document?: string): Answer {
  const { status, code } = refusal;
  if (!/\btext\/html\b/i.test(exchange.header('accept', true) ?? '')) {
    const answer = refusalAnswer(refusal);
    return { ...answer, headers: answer.headers.concat(VARY) };
  }
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  const fields = { ...PRIVATE_FIELDS, ...challenge, ...refusal.headers };
  const body = Buffer.from(document ?? plainPage(site, refusal));
  return { status, code, headers: headers(fields).concat(VARY), body };
}

function plainPage(site: Site, { status, message }: Refusal): string {
  const title = status === 404 ? 'Not here' : 'This did not work';
  return page(site, {
    title,
    main: html`<h1>${title}</h1>
<p>${message}</p>
<p><a href="${site.root}/">To the start page</a></p>`,
  });
}

export function legalPage(site: Site, name: LegalPage, text: Html): string {
  const title = LEGAL_TITLES[name];
  return page(site, {
    title,
    isListed: true,
    main: html`${!/<h1>/.test(String(text)) && html`<h1>${title}</h1>`}
<div class="text" dir="auto">${text}</div>`,
  });
}

/** What other sites show of a public page (https://ogp.me/), and the feed that it belongs to. */
export interface PublicHead {
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
