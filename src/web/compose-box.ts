import { createHash } from 'node:crypto';
import { copyableCurl, type PostedFeed } from './copyable.ts';
import { type Child, type Html, html } from './html.ts';
import { PREVIEW, pictureField, SENDING, titleAndTags } from './note-fields.ts';
import { script } from './page.ts';
import type { Site } from './site.ts';

/** A feed as the compose box needs it. */
export interface ComposedFeed extends PostedFeed {
  /** It exists, so it is too late for a password. */
  readonly exists: boolean;
  readonly hasNotes: boolean;
}

/** Where a note is written and posted, on the page of a feed; driven by `browser/compose.ts`. */
export function composeBox(site: Site, feed: ComposedFeed): Html {
  return html`<form id="compose" class="compose" method="post" data-feed="${feed.name}" data-draft="${draftKey(feed.name)}"
 aria-label="New note">
<label for="note-text">Note <span class="optional">markdown</span></label>
<textarea id="note-text" name="text" rows="4"></textarea>
${titleAndTags()}
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

const PROTECTION = html`<div data-empty-feed>
<label for="feed-password">Password for this feed <span class="optional">optional</span></label>
<input id="feed-password" name="password" type="password" maxlength="256" autocomplete="new-password"
 aria-describedby="feed-password-hint">
<p class="hint" id="feed-password-hint">Protects the feed: without it nobody posts, edits or sees this page, even with the name. It can
 be set only now, with the first note.</p>
</div>`;

function firstNote(site: Site, feed: ComposedFeed): Child {
  const curl = copyableCurl(site, feed);
  if (curl === undefined)
    return html`<p data-empty-feed>There is no note yet: write the first one above.</p>`;
  return html`<section data-empty-feed aria-label="Post from a terminal">
<h2>There is no note yet</h2>
<p>Write the first one above, or post it from a terminal:</p>
${curl}
</section>`;
}

/** Key of a draft in the browser's storage; does not reveal the feed's name. */
export function draftKey(name: string): string {
  return `draft-${createHash('sha256').update(`draft of ${name}`).digest('base64url').slice(0, 22)}`;
}
