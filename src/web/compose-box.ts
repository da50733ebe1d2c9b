import { createHash } from 'node:crypto';
import { copyable } from './copyable.ts';
import { curlLine, type PostedFeed } from './curl-line.ts';
import { type Child, type Html, html } from './html.ts';
import { pictureField, SENDING } from './picture-field.ts';
import { script } from './script.ts';
import type { Site } from './site.ts';

/** A feed as the compose box needs it. */
export interface ComposedFeed extends PostedFeed {
  /** It exists, so it can be protected no more. */
  readonly exists: boolean;
  readonly hasNotes: boolean;
}

/** Where a note is written and posted, on the page of a feed. `browser/compose.ts` brings it to life. */
export function composeBox(site: Site, feed: ComposedFeed): Html {
  return html`<form id="compose" class="compose" method="post" data-feed="${feed.name}" data-draft="${draftKey(feed.name)}"
 aria-label="New note">
<label for="note-text">Note <span class="optional">markdown</span></label>
<textarea id="note-text" name="text" rows="4"></textarea>
<div class="pair">
<div><label for="note-title">Title <span class="optional">optional</span></label>
<input id="note-title" name="title" maxlength="100" autocomplete="off"></div>
<div><label for="note-tags">Tags <span class="optional">optional, separated by commas</span></label>
<input id="note-tags" name="tags" autocomplete="off" autocapitalize="none"></div>
</div>
${pictureField(site)}
${!feed.exists && PROTECTION}
<p class="actions"><button class="primary" disabled>Post</button>
<span class="hint by-hand">Ctrl or ⌘ with Enter</span></p>
<noscript><p class="hint">Posting in the browser needs JavaScript; the command line does not.</p></noscript>
${SENDING}
${PREVIEW}
</form>
${!feed.hasNotes && firstNote(site, feed)}
${script(site, 'compose')}`;
}

/** Where the rendered text is shown while it is written; `browser/preview.ts` brings it to life. */
export const PREVIEW = html`<details class="preview" open hidden>
<summary>Preview</summary>
<div class="body text" dir="auto"></div>
</details>`;

const PROTECTION = html`<div data-empty-feed>
<label for="feed-password">Password for this feed <span class="optional">optional</span></label>
<input id="feed-password" name="password" type="password" maxlength="256" autocomplete="new-password"
 aria-describedby="feed-password-hint">
<p class="hint" id="feed-password-hint">Protects the feed: without it nobody posts, edits or sees this page, even with the name. It can
 be set only now, with the first note.</p>
</div>`;

function firstNote(site: Site, feed: ComposedFeed): Child {
  const curl = curlLine(site, feed);
  if (curl === undefined)
    return html`<p data-empty-feed>There is no note yet: write the first one above.</p>`;
  return html`<section data-empty-feed aria-label="Post from a terminal">
<h2>There is no note yet</h2>
<p>Write the first one above, or post it from a terminal:</p>
${copyable('curl-line', curl, 'the command')}
</section>`;
}

/** What a draft is stored by in the browser, where the name of a feed is not to be found. */
export function draftKey(name: string): string {
  return `draft-${createHash('sha256').update(`draft of ${name}`).digest('base64url').slice(0, 22)}`;
}
