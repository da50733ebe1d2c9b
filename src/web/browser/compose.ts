import './copy.ts';
import { readDraft, writeDraft } from './draft.ts';
import { find, ROOT } from './elements.ts';
import { refresh } from './live.ts';
import { noteForm, noteHeaders, submitOnEnter } from './note-form.ts';
import { send, uploadStatus } from './send.ts';

const form = find<HTMLFormElement>(document, '#compose');
const { feed = '', draft: draftKey = '' } = form.dataset;
const title = find<HTMLInputElement>(form, '[name=title]');
const tags = find<HTMLInputElement>(form, '[name=tags]');
const status = uploadStatus(form);
const draft = readDraft(draftKey);
const { text, pictures, updatePreview, content } = noteForm(form, feed, status.fail);

/** Fields that a draft keeps; not the password. */
const DRAFT_FIELDS = [text, title, tags];

for (const field of DRAFT_FIELDS) field.value = draft[field.name] ?? field.value;
updatePreview();
form.addEventListener('input', () => {
  writeDraft(draftKey, Object.fromEntries(DRAFT_FIELDS.map(({ name, value }) => [name, value])));
});

submitOnEnter(form);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const isBlank = text.value.trim() === '';
  const { body, hasPictures } = await content(!isBlank);
  if (isBlank && !hasPictures) {
    status.fail(pictures ? 'Write something, or add a picture.' : 'Write something.');
    text.focus();
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
  updatePreview();
  // Last, because a reset that removes pictures writes the draft.
  writeDraft(draftKey, {});
  // The page of a feed with notes has other parts than the page of an empty feed.
  if (document.querySelector('[data-empty-feed]') !== null) location.reload();
  else if (new URLSearchParams(location.search).size > 0) location.assign(location.pathname);
  else await refresh();
});
