import { createHash } from 'node:crypto';
import { mediaType, type NoteType } from '../feeds/note-types.ts';
import type { ArticleNote } from './article.ts';
import { copyableCurl, type PostedFeed } from './forms.ts';
import { type Child, type Html, html } from './html.ts';
import { script } from './page.ts';
import type { Site } from './site.ts';
import { noPictures } from './tier.ts';

/** What a picture input must know for `browser/shrink.ts`. */
export function pictureLimits({ shrinkImageBytes, maxImageBytes }: Site): Child {
  return html`data-shrink="${shrinkImageBytes}" data-largest="${maxImageBytes}"`;
}

export const ANY_PICTURE = 'image/png,image/jpeg,image/gif,image/webp';

/** Where pictures are added to a text by choosing, pasting or dropping them; driven by `browser/picture-list.ts`. */
function pictureField(site: Site): Child {
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

function titleAndTags(title = '', tags: readonly string[] = []): Child {
  return html`<div class="pair">
<div><label for="note-title">Title <span class="optional">optional</span></label>
<input id="note-title" name="title" maxlength="100" autocomplete="off" value="${title}"></div>
<div><label for="note-tags">Tags <span class="optional">optional, separated by commas</span></label>
<input id="note-tags" name="tags" autocomplete="off" autocapitalize="none" value="${tags.join(', ')}"></div>
</div>`;
}

/** Progress bar and messages of a form that sends something; driven by `browser/send.ts`. */
export const SENDING = html`<div class="actions sending" hidden>
<progress max="1" aria-label="Upload"></progress>
<button type="button" data-action="cancel">Cancel</button>
</div>
<p class="status" role="status"></p>
<p class="error" aria-live="assertive"></p>`;

/** A live preview of the text; filled by `browser/note-form.ts`. */
const PREVIEW = html`<details class="preview" open hidden>
<summary>Preview</summary>
<div class="body text" dir="auto"></div>
</details>`;

/** A feed as the compose box needs it. */
export interface ComposedFeed extends PostedFeed {
  /** Tells the feed from another one of its name; undefined if there is none yet, so that the form offers a password for it. */
  readonly identity: string | undefined;
  readonly hasNotes: boolean;
}

/** Where a note is written and posted, on the page of a feed; driven by `browser/compose.ts`. */
export function composeBox(site: Site, feed: ComposedFeed): Html {
  // A form of another type would be stored as a raw note if its script failed; this one is refused for its fields.
  return html`<form id="compose" class="compose" method="post" enctype="multipart/form-data" data-feed="${feed.name}" data-draft="${draftKey(feed.name)}"
 data-identity="${feed.identity ?? ''}" aria-label="New note">
<label for="note-text">Note <span class="optional">markdown</span></label>
<textarea id="note-text" name="text" rows="4"></textarea>
${titleAndTags()}
${pictureField(site)}
${OPTIONS}
${feed.identity === undefined && PROTECTION}
<p class="actions"><button class="primary" disabled>Post</button>
<span class="hint by-hand">Ctrl or ⌘ with Enter</span></p>
<noscript><p class="hint">Posting in the browser needs JavaScript; the command line does not.</p></noscript>
${SENDING}
${OUTDATED_FEED}
${PREVIEW}
</form>
${!feed.hasNotes && firstNote(site, feed)}
${script(site, 'compose')}`;
}

/** How long a note may live, as `X-Note-Expires` says it. */
const LIVES = { '1h': '1 hour', '1d': '1 day', '7d': '1 week', '30d': '30 days' };

const OPTIONS = html`<details>
<summary>Options</summary>
<label for="note-expires">Expires <span class="optional">then it is gone for good</span></label>
<select id="note-expires" name="expires">
<option value="">never</option>
${Object.entries(LIVES).map(([value, text]) => html`<option value="${value}">after ${text}</option>\n`)}</select>
</details>`;

/** What a post says that was meant for another feed than the one there is now; filled by `browser/compose.ts`. */
const OUTDATED_FEED = html`<div class="outdated" hidden>
<p role="alert"></p>
<p class="actions"><button type="button" data-action="renew"></button> <a class="button" target="_blank">Open the feed as it is now</a></p>
</div>`;

const PROTECTION = html`<div data-empty-feed>
<label for="feed-password">Password for this feed <span class="optional">optional</span></label>
<input id="feed-password" name="password" type="password" maxlength="256" autocomplete="new-password"
 pattern="[!-~]([ -~]*[!-~])?" title="Letters a to z, digits and signs of a keyboard, with no space at either end"
 aria-describedby="feed-password-hint">
<p class="hint" id="feed-password-hint">Protects the feed: without it nobody posts, edits or sees this page, even with the name. It can
 be set only now, with the first note.</p>
</div>`;

function firstNote(site: Site, feed: ComposedFeed): Child {
  const above = html`<h2>There is no note yet</h2>
<p>Write the first one above, or post it from a terminal:</p>`;
  const curl = copyableCurl(site, feed, above);
  return curl
    ? html`<section data-empty-feed aria-label="Post from a terminal">\n${curl}\n</section>`
    : html`<p data-empty-feed>There is no note yet: write the first one above.</p>`;
}

/** Key of a draft in the browser's storage; does not reveal the feed's name. */
export function draftKey(name: string): string {
  return `draft-${createHash('sha256').update(`draft of ${name}`).digest('base64url').slice(0, 22)}`;
}

/** What only the editor of a note shows. */
export interface EditedNote {
  /** The markdown as posted; undefined for a picture. */
  readonly text: string | undefined;
  /** The title that was set, not one taken from the text. */
  readonly title: string | undefined;
  readonly alt: string | undefined;
  /** Of the note's JSON, with its quotes. */
  readonly etag: string;
  /** Tells the feed from another one of its name. */
  readonly identity: string;
}

/** Where a note is edited and deleted, on its own page; driven by `browser/note.ts`. */
export function noteEditor(site: Site, feed: string, note: ArticleNote, edited: EditedNote): Html {
  const { id, type, tags, readUrl } = note;
  const isText = type === 'md';
  return html`<section id="note-editor" class="note-editor" aria-label="This note" data-feed="${feed}" data-id="${id}"
 data-type="${mediaType(type)}" data-etag="${edited.etag}" data-identity="${edited.identity}">
<p class="actions">
<button type="button" data-action="edit" aria-expanded="false" aria-controls="edit-note" disabled>Edit</button>
${readUrl != null && html`<button type="button" data-copy="read-link">Copy read link</button>`}
<button type="button" class="danger" data-action="delete" disabled>Delete</button>
</p>
<p hidden id="read-link">${readUrl ?? ''}</p>
<noscript><p class="hint">Editing and deleting in the browser need JavaScript.</p></noscript>
${MEANWHILE}
<form id="edit-note" class="compose" method="post" hidden aria-label="Edit this note">
${isText ? textFields(site, edited) : pictureFields(site, type, edited)}
${titleAndTags(edited.title, tags)}
<p class="actions"><button class="primary">Save</button> <button type="button" data-action="close">Cancel</button></p>
${SENDING}
${isText && PREVIEW}
</form>
<dialog id="delete-note" aria-labelledby="delete-heading">
<form method="dialog">
<h2 id="delete-heading">Delete this note?</h2>
<p>It is gone for good${!isText && ', and so is the picture wherever it is shown'}.</p>
<p class="error" aria-live="assertive"></p>
<p class="actions"><button type="button" class="danger" data-action="confirm">Delete</button> <button autofocus>Keep it</button></p>
</form>
</dialog>
</section>
${script(site, 'note')}`;
}

/** What happened to a note while it was edited here; shown by `browser/conflict.ts`. */
const MEANWHILE = html`<div id="changed" class="compose" role="group" aria-labelledby="changed-heading" tabindex="-1" hidden>
<h2 id="changed-heading">This note was changed meanwhile</h2>
<p>Above it is as it is now. What you wrote is not saved yet and stays below. Keep theirs, save yours in its place, or change
 yours until it holds both and save that.</p>
<p class="actions"><button type="button" data-action="theirs">Keep theirs</button>
<button type="button" data-action="mine">Save mine in its place</button></p>
</div>
<div id="deleted" class="compose" role="group" aria-labelledby="deleted-heading" tabindex="-1" hidden>
<h2 id="deleted-heading">This note was deleted meanwhile</h2>
<p>What you wrote is not saved and stays below.</p>
<p class="actions"><button type="button" data-action="repost">Post mine as a new note</button>
<button type="button" data-action="leave">Leave it deleted</button></p>
</div>`;

function textFields(site: Site, { text }: EditedNote): Child {
  // A parser drops the first line break of a textarea.
  return html`<div class="pair">
<div><label for="note-text">Note <span class="optional">markdown</span></label>
<textarea id="note-text" name="text" rows="8">
${text}</textarea></div>
<div class="theirs" hidden><label for="their-text">Theirs <span class="optional">as it is now</span></label>
<textarea id="their-text" rows="8" readonly></textarea></div>
</div>
${pictureField(site)}`;
}

function pictureFields(site: Site, type: NoteType, { alt = '' }: EditedNote): Child {
  return html`<label for="note-alt">Alternative text <span class="optional">what the picture shows</span></label>
<input id="note-alt" name="alt" maxlength="500" autocomplete="off" value="${alt}">
${
  site.takesPictures
    ? html`<label for="replacement">Another picture <span class="optional">of the same type</span></label>
<input id="replacement" name="replacement" type="file" accept="${mediaType(type)}" ${pictureLimits(site)} aria-describedby="replacement-notice">
<p class="notice" id="replacement-notice" role="status"></p>`
    : noPictures(site)
}`;
}
