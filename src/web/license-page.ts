import { field } from './forms.ts';
import { type Child, html } from './html.ts';
import { page } from './page.ts';
import type { Hosted, Site } from './site.ts';
import { amount, type Tier } from './tier.ts';

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
${licenseUrl === undefined ? html`<p>Ask whoever runs this instance.</p>` : html`<p>${buyLink(licenseUrl)}</p>`}
<h2>How to attach it</h2>
<p>Open the settings of your feed and paste the license under <em>License</em>. Keep it like a password: whoever has it can use it. To
 use it for another feed, detach it first.</p>`,
  });
}

/**
 * The license section of the settings page; nothing on an instance without licenses. The attached license is never shown.
 * @param action where its forms go
 * @param isAttached a license is attached, valid or ended
 * @param problem why the license that was sent was refused, one sentence
 */
export function licenseSection(
  { tier, hosted, root }: Site,
  { action, isAttached, problem }: { action: string; isAttached: boolean; problem: string | undefined },
): Child {
  if (tier === undefined || hosted === undefined) return undefined;
  return html`<section aria-labelledby="license">
<h2 id="license">License</h2>
${tierSentence(tier, hosted.freeNotes)}
<form method="post" action="${action}">
${field({
  id: 'license-text',
  name: 'license',
  label: tier.until === undefined ? 'License' : 'Another license',
  isRequired: true,
  isExact: true,
  hint: 'Paste the whole license. It is not shown again.',
  problem,
})}
<p class="actions"><button name="action" value="attach">Attach</button>
${hosted.licenseUrl !== undefined && buyLink(hosted.licenseUrl)}
<a href="${root}/license">What a license is for</a></p>
</form>
${
  isAttached &&
  html`<form method="post" action="${action}">
<p class="hint">A license that is detached can be attached to another feed. What this feed has stays.</p>
<p class="actions"><button class="danger" name="action" value="detach">Detach the license</button></p>
</form>`
}
</section>`;
}

function buyLink(url: string): Child {
  return html`<a href="${url}" rel="noopener">Buy a license</a>`;
}

function tierSentence({ until, endsSoon, endedOn, notes }: Tier, freeNotes: number): Child {
  if (until !== undefined)
    return html`<p${endsSoon && html` class="warning"`}>This feed has a license until the end of ${until} (UTC).</p>`;
  return html`${endedOn !== undefined && html`<p class="warning">The license of this feed ended on ${endedOn}.</p>`}
<p>This feed is in the free tier: it takes no pictures and at most ${amount(freeNotes)} notes. It has ${amount(notes)}.</p>`;
}
