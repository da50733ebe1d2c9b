import { type Html, html } from './html.ts';
import { LEGAL_TITLES, page } from './page.ts';
import type { LegalPage, Site } from './site.ts';

/** A page that the law may ask for. */
export function legalPage(site: Site, name: LegalPage, text: Html): Buffer {
  const title = LEGAL_TITLES[name];
  return page(site, {
    title,
    isListed: true,
    main: html`${!/<h1>/.test(String(text)) && html`<h1>${title}</h1>`}
<div class="text" dir="auto">${text}</div>`,
  });
}
