import './copy.ts';
import { readDraft, writeDraft } from './draft.ts';
import { find } from './elements.ts';
import { refresh } from './live.ts';
import { NoteForm, noteHeaders, submitOnEnter } from './note-form.ts';
import { ROOT } from './root.ts';
import { send, UploadStatus } from './send.ts';

const form = find<HTMLFormElement>(document, '#compose');
const { feed = '', draft: draftKey = '' } = form.dataset;
const title = find<HTMLInputElement>(form, '[name=title]');
const tags = find<HTMLInputElement>(form, '[name=tags]');
const status = new UploadStatus(form);
const draft = readDraft(draftKey);
const note = new NoteForm(form, feed, status);

/** Fields that a draft keeps; not the password. */
const DRAFT_FIELDS = [note.text, title, tags];

for (const field of DRAFT_FIELDS) field.value = draft[field.name] ?? field.value;
note.updatePreview();
form.addEventListener('input', () => {
  writeDraft(draftKey, Object.fromEntries(DRAFT_FIELDS.map(({ name, value }) => [name, value])));
});

submitOnEnter(form);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { body, hasPictures } = await note.content(!note.isBlank);
  if (note.isBlank && !hasPictures) {
    status.fail(note.pictures ? 'Write something, or add a picture.' : 'Write something.');
    note.text.focus();
    return;
  }
  const password = form.querySelector<HTMLInputElement>('[name=password]')?.value ?? '';
  const isPosted = await status.run(async (signal, onProgress) => {
    const headers = {
      ...noteHeaders(title.value, tags.value),
      ...(password !== '' && { 'X-Feed-Password': password }),
    };
    await send({ method: 'POST', path: `${ROOT}/${feed}`, headers, body, signal, onProgress });
    return 'Posted.';
  });
  if (!isPosted) return;
  form.reset();
  note.updatePreview();
  // Last, because a reset that removes pictures writes the draft.
  writeDraft(draftKey, {});
  // The page of a feed with notes has other parts than the page of an empty feed.
  if (document.querySelector('[data-empty-feed]') !== null) location.reload();
  else if (new URLSearchParams(location.search).size > 0) location.assign(location.pathname);
  else await refresh();
});
