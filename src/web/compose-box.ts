import type { PostedFeed } from './curl-line.ts';
import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** A feed as the compose box needs it. */
export interface ComposedFeed extends PostedFeed {
  /** It exists, so it can be protected no more. */
  readonly exists: boolean;
  readonly hasNotes: boolean;
}

/** Where a note is written and posted, on the page of a feed. */
export function composeBox(_site: Site, { base, name }: ComposedFeed): Html {
  return html`<pre tabindex="0"><code>curl --data-binary @note.md -H 'Content-Type: text/markdown' ${base}/${name}</code></pre>`;
}
