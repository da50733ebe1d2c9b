import type { FeedName } from '../feeds/names.ts';
import { field } from './field.ts';
import { type Child, html } from './html.ts';
import type { Site } from './site.ts';
import { amount, type Tier } from './tier.ts';

export interface LicenseGroup {
  readonly name: FeedName;
  /** A license is attached, be it over or not. It is never shown. */
  readonly isAttached: boolean;
  /** Why the one that was sent was refused, one sentence. */
  readonly problem: string | undefined;
}

/** The part of the settings page about the license of a feed, on a hosted instance. */
export function licenseGroup(
  { tier, hosted, root }: Site,
  { name, isAttached, problem }: LicenseGroup,
): Child {
  if (tier === undefined || hosted === undefined) return undefined;
  const action = `${root}/${name}/license`;
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
${hosted.licenseUrl !== undefined && html`<a href="${hosted.licenseUrl}" rel="noopener">Buy a license</a>`}
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

function tierSentence({ until, endsSoon, endedOn, notes }: Tier, freeNotes: number): Child {
  if (until !== undefined)
    return html`<p${endsSoon && html` class="warning"`}>This feed has a license until the end of ${until} (UTC).</p>`;
  return html`${endedOn !== undefined && html`<p class="warning">The license of this feed ended on ${endedOn}.</p>`}
<p>This feed is in the free tier: it takes no pictures and at most ${amount(freeNotes)} notes. It has ${amount(notes)}.</p>`;
}
