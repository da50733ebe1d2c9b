import { type Html, html } from './html.ts';
import { page } from './page.ts';
import { LEGAL_TITLES, type LegalPage, type Site } from './site.ts';

export function legalPage(site: Site, name: LegalPage, text: Html): Buffer {
  const title = LEGAL_TITLES[name];
  return page(site, {
    title,
    isListed: true,
    main: html`${!/<h1>/.test(String(text)) && html`<h1>${title}</h1>`}
<div class="text" dir="auto">${text}</div>`,
  });
}
