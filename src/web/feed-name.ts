import type { FeedName } from '../feeds/names.ts';
import { feedUrl } from '../feeds/urls.ts';
import { copyable } from './forms.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { qrButton } from './share.ts';

/** Stands for the title of a feed that has none on the pages of its writers, because the name is a secret. */
export const UNTITLED = 'Untitled feed';

/** The name of a feed, shown on request. */
export function secretName(name: FeedName): Html {
  return html`<details class="secret"><summary>${icon('key')}Show its name</summary>
${copyable('feed-name', name, 'the name')}
</details>`;
}

/** The secret address of a feed, to copy or to take along. */
export function secretAddress(base: string, name: FeedName): Html {
  return copyable(
    'feed-address',
    feedUrl(base, name),
    'the address',
    qrButton('feed-address', 'Address to write here'),
  );
}

/** Asks whoever has made a feed to keep its address. It is hidden until a script finds that this browser has made the feed. */
export function keepAddress(base: string, name: FeedName): Html {
  return html`<section class="card keep" id="keep" aria-labelledby="keep-heading" tabindex="-1" hidden>
<h2 id="keep-heading">${icon('key')}Keep this address</h2>
<p>It is the only way back to write here, and nobody can send it to you again. Whoever has it can write.
 <span class="by-hand">Ctrl or &#8984; with D makes a bookmark.</span></p>
${secretAddress(base, name)}
<p class="actions"><button type="button" data-action="kept">Done</button></p>
</section>`;
}
