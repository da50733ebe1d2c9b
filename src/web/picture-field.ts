import { type Child, html } from './html.ts';
import type { Site } from './site.ts';
import { noPictures } from './tier.ts';

/** Where pictures are added to a text: by choosing, pasting or dropping them. `browser/picture-list.ts` brings it to life. */
export function pictureField(site: Site): Child {
  if (!site.takesPictures) return noPictures(site);
  return html`<div class="pictures" data-shrink="${site.shrinkImageBytes}" data-largest="${site.maxImageBytes}">
<ul class="attachments" aria-label="Pictures of this note"></ul>
<template>
<li>
<img alt="" width="96" height="96">
<div>
<p class="file"></p>
<label>Alternative text <span class="optional">what the picture shows</span><input name="alt" maxlength="500" autocomplete="off"></label>
<p class="notice" role="status"></p>
<div class="actions">
<button type="button" data-action="insert">Insert into text</button>
<button type="button" data-action="clean" hidden>Remove the position</button>
<button type="button" data-action="remove">Remove</button>
</div>
</div>
</li>
</template>
<input type="file" multiple hidden accept="image/png,image/jpeg,image/gif,image/webp">
<p class="add"><button type="button" data-action="add" disabled>Add pictures</button>
<span class="hint by-hand">or paste them, or drop them here</span></p>
</div>`;
}

/** What is said while something is sent, and how far it is; `browser/progress.ts` brings it to life. */
export const SENDING = html`<div class="sending" hidden>
<progress max="1" aria-label="Upload"></progress>
<button type="button" data-action="cancel">Cancel</button>
</div>
<p class="status" role="status"></p>
<p class="error" aria-live="assertive"></p>`;
