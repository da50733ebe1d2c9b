import type { Tier } from '../licenses/licenses.ts';
import { type Child, type Html, html } from './html.ts';
import { page } from './page.ts';
import type { Site } from './site.ts';

/** Why no picture can be added. */
export function noPictures({ tier, root }: Site): Html {
  return tier && tier.until === undefined
    ? html`<p class="hint">Pictures need a license, which this feed does not have. <a href="${root}/license">What a license is for</a></p>`
    : html`<p class="hint">Images can't be posted on this instance.</p>`;
}

/** The quota or the end of the license, above the notes of a feed. */
export function tierNotice({ tier, root }: Site, settings: string): Child {
  if (tier === undefined) return undefined;
  const { until, endsSoon, endedOn, notes, freeNotes } = tier;
  if (until === undefined)
    return html`<p class="quota">${amount(notes)} of ${amount(freeNotes)} notes. ${endedOn !== undefined && html`The license of this feed ended on ${endedOn}. `}<a href="${root}/license">Free tier</a></p>
`;
  if (!endsSoon) return undefined;
  return html`<p class="quota warning">The license of this feed ends on ${until}. <a href="${settings}#license">Attach another one</a></p>
`;
}

/** The sentences in a feed's settings about its license or, without one, about the free tier. */
export function tierSentence({ until, endsSoon, endedOn, notes, freeNotes }: Tier): Html {
  if (until !== undefined)
    return html`<p${endsSoon && html` class="warning"`}>This feed has a license until the end of ${until} (UTC).</p>`;
  return html`${endedOn !== undefined && html`<p class="warning">The license of this feed ended on ${endedOn}.</p>`}
<p>This feed is in the free tier: it takes no pictures and at most ${amount(freeNotes)} notes. It has ${amount(notes)}.</p>`;
}

/** A number for people: `1,000`. */
function amount(count: number): string {
  return count.toLocaleString('en');
}

/** The page at `/license` of a hosted instance. */
export function licensePage(site: Site, freeNotes: number): string {
  return page(site, {
    title: 'Licenses',
    isListed: true,
    main: html`<h1>Licenses</h1>
<p class="lead">Every feed works without a license. With one it takes pictures, and more notes.</p>
<div class="pair tiers">
<section class="card" aria-labelledby="free"><h2 id="free">Without a license</h2>
<p class="amount"><strong>${amount(freeNotes)}</strong> notes of text</p>
<p>Everybody with the read link can read them. Nothing that is stored is ever removed for the lack of a license.</p></section>
<section class="card" aria-labelledby="licensed"><h2 id="licensed">With a license</h2>
<p class="amount"><strong>Pictures</strong> and more notes</p>
<p>A license is valid until the end of its last day, in UTC, for as many feeds at once as it says. Afterwards all notes of the feed
 stay readable and can be edited and deleted.</p></section>
</div>
<h2>Where to get one</h2>
<p>${buyLink(site, html` class="button primary"`) ?? 'Ask whoever runs this instance.'}</p>
<h2>How to attach it</h2>
<p>Open the settings of your feed and paste the license under <em>License</em>. Keep it like a password: whoever has it can use it. To
 use it for another feed, detach it first.</p>`,
  });
}

/** A link to where licenses are sold; nothing if the instance does not name a place. */
export function buyLink({ licenseUrl }: Site, attributes?: Html): Html | undefined {
  return licenseUrl === undefined
    ? undefined
    : html`<a${attributes} href="${licenseUrl}" rel="noopener">Buy a license</a>`;
}
