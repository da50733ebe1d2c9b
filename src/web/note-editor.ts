import { mediaType, type NoteType } from '../feeds/note-types.ts';
import { type Child, type Html, html } from './html.ts';
import { PREVIEW, pictureField, pictureLimits, SENDING, titleAndTags } from './note-fields.ts';
import { script } from './page.ts';
import type { Site } from './site.ts';
import { noPictures } from './tier.ts';

/** A note as its editor needs it. */
export interface EditedNote {
  readonly feed: string;
  readonly id: string;
  readonly type: NoteType;
  /** The markdown as posted; undefined for a picture. */
  readonly text: string | undefined;
  /** The title that was set, not one taken from the text. */
  readonly title: string | undefined;
  readonly tags: readonly string[];
  readonly alt: string | undefined;
  /** The public page of the note, absolute. */
  readonly readUrl: string;
}

/** Where a note is edited and deleted, on its own page; driven by `browser/note.ts`. */
export function noteEditor(site: Site, note: EditedNote): Html {
  const isText = note.type === 'md';
  return html`<section id="note-editor" class="note-editor" aria-label="This note" data-feed="${note.feed}" data-id="${note.id}"
 data-type="${mediaType(note.type)}">
<p class="actions">
<button type="button" data-action="edit" aria-expanded="false" aria-controls="edit-note" disabled>Edit</button>
<button type="button" data-copy="read-link">Copy read link</button>
<button type="button" class="danger" data-action="delete" disabled>Delete</button>
</p>
<p hidden id="read-link">${note.readUrl}</p>
<noscript><p class="hint">Editing and deleting in the browser need JavaScript.</p></noscript>
<form id="edit-note" class="compose" method="post" hidden aria-label="Edit this note">
${isText ? textFields(site, note.text ?? '') : pictureFields(site, note)}
${titleAndTags(note.title, note.tags)}
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

function textFields(site: Site, text: string): Child {
  // A parser drops the first line break of a textarea.
  return html`<label for="note-text">Note <span class="optional">markdown</span></label>
<textarea id="note-text" name="text" rows="8">
${text}</textarea>
${pictureField(site)}`;
}

function pictureFields(site: Site, { type, alt = '' }: EditedNote): Child {
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
