import { html } from './html.ts';
import { page } from './page.ts';
import type { Hosted, Site } from './site.ts';
import { amount } from './tier.ts';

/** The page at `/license` of a hosted instance. */
export function licensePage(site: Site, { freeNotes, licenseUrl }: Hosted): Buffer {
  return page(site, {
    title: 'Licenses',
    isListed: true,
    main: html`<h1>Licenses</h1>
<h2>Without a license</h2>
<p>Every feed may have ${amount(freeNotes)} notes of text. Everybody with the read link can read them, and nothing that is stored is
 ever removed for the lack of a license.</p>
<h2>With a license</h2>
<p>A feed takes pictures as well, and more notes. A license counts until the end of its last day, in UTC, for as many feeds at once as
 it says. When it has ended, all that the feed has stays readable and can be edited and deleted.</p>
<h2>Where to get one</h2>
${
  licenseUrl === undefined
    ? html`<p>Ask whoever runs this instance.</p>`
    : html`<p><a href="${licenseUrl}" rel="noopener">Buy a license</a></p>`
}
<h2>How to attach it</h2>
<p>Open the settings of your feed and paste the license under <em>License</em>. Keep it like a password: whoever has it can use it. To
 use it for another feed, detach it first.</p>`,
  });
}
