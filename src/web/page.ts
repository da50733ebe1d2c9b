import { type Answer, NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import type { ScriptName } from './assets.ts';
import { type Child, type Html, html } from './html.ts';
import { LEGAL_TITLES, type Site } from './site.ts';

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

const PRIVATE = headers({ ...PAGE_FIELDS, 'Cache-Control': 'private, no-store' });

/** One page, inside the frame that all pages share. */
export interface Page {
  readonly title: string;
  /** What `<head>` holds beside title, style and icons. */
  readonly head?: Child;
  /** What stands in the header beside the instance's title. */
  readonly navigation?: Child;
  readonly main: Html;
  /** Search engines may list it. */
  readonly isListed?: boolean;
}

/** The whole document of a page, UTF-8. */
export function page(site: Site, content: Page): Buffer {
  return Buffer.from(pageText(site, content));
}

/** The whole document of a page. */
export function pageText(site: Site, { title, head, navigation, main, isListed = false }: Page): string {
  const { assets, root } = site;
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${!isListed && html`<meta name="robots" content="noindex">`}
<title>${title === site.title ? title : `${title} · ${site.title}`}</title>
<link rel="stylesheet" href="${assets.style}">
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="apple-touch-icon" href="${assets.icon192}">
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
${footer(site)}
</body>
</html>
`);
}

function footer({ legalPages, root }: Site): Child {
  const links = legalPages.map((name) => html`<a href="${root}/${name}">${LEGAL_TITLES[name]}</a>\n`);
  return (
    links.length > 0 &&
    html`<footer class="site"><nav aria-label="About this instance">${links}</nav></footer>`
  );
}

/** Starts a script once the page is parsed. */
export function script(site: Site, name: ScriptName): Html {
  return html`<script type="module" src="${site.assets[name]}"></script>`;
}

/** The answer with a page that no cache may keep. */
export function pageAnswer(body: Uint8Array): Answer {
  return { status: 200, headers: PRIVATE, body };
}
