import { type Child, html } from './html.ts';
import type { Site } from './site.ts';
import { noPictures } from './tier.ts';

/** What a picture input must know for `browser/shrink.ts`. */
export function pictureLimits({ shrinkImageBytes, maxImageBytes }: Site): Child {
  return html`data-shrink="${shrinkImageBytes}" data-largest="${maxImageBytes}"`;
}

export const ANY_PICTURE = 'image/png,image/jpeg,image/gif,image/webp';

/** Where pictures are added to a text by choosing, pasting or dropping them; driven by `browser/picture-list.ts`. */
export function pictureField(site: Site): Child {
  if (!site.takesPictures) return noPictures(site);
  return html`<div class="pictures" ${pictureLimits(site)}>
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
<input type="file" multiple hidden accept="${ANY_PICTURE}">
<p class="actions"><button type="button" data-action="add" disabled>Add pictures</button>
<span class="hint by-hand">or paste them, or drop them here</span></p>
</div>`;
}

export function titleAndTags(title = '', tags: readonly string[] = []): Child {
  return html`<div class="pair">
<div><label for="note-title">Title <span class="optional">optional</span></label>
<input id="note-title" name="title" maxlength="100" autocomplete="off" value="${title}"></div>
<div><label for="note-tags">Tags <span class="optional">optional, separated by commas</span></label>
<input id="note-tags" name="tags" autocomplete="off" autocapitalize="none" value="${tags.join(', ')}"></div>
</div>`;
}

/** Progress bar and messages of a form that sends something; driven by `browser/upload-status.ts`. */
export const SENDING = html`<div class="sending" hidden>
<progress max="1" aria-label="Upload"></progress>
<button type="button" data-action="cancel">Cancel</button>
</div>
<p class="status" role="status"></p>
<p class="error" aria-live="assertive"></p>`;

/** A live preview of the text; filled by `browser/preview.ts`. */
export const PREVIEW = html`<details class="preview" open hidden>
<summary>Preview</summary>
<div class="body text" dir="auto"></div>
</details>`;
