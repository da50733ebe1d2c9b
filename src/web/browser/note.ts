import './copy.ts';
import { find, onActions, ROOT } from './elements.ts';
import { noteForm, noteHeaders, submitOnEnter } from './note-form.ts';
import { type ApiRequest, RequestFailed, send, uploadStatus } from './send.ts';
import { POSITION_WARNING, preparePicture } from './shrink.ts';
import { bytesText } from './text.ts';

const root = find<HTMLElement>(document, '#note-editor');
const { feed = '', id = '', type = '' } = root.dataset;
const path = `${ROOT}/api/v1/feeds/${feed}/notes/${encodeURIComponent(id)}`;
const form = find<HTMLFormElement>(root, '#edit-note');
const edit = find<HTMLButtonElement>(root, '[data-action=edit]');
const dialog = find<HTMLDialogElement>(root, 'dialog');
const status = uploadStatus(form);

/** The new content of the note; undefined if it is unchanged. */
type NewContent = () => Promise<Pick<ApiRequest, 'headers' | 'body'> | undefined>;

const newContent = type === 'text/markdown' ? editText() : replacePicture();

onActions(root, {
  edit: () => toggle(form.hidden !== false),
  close() {
    form.reset();
    toggle(false);
    edit.focus();
  },
  delete: () => dialog.showModal(),
  confirm: () => void deleteNote(),
});
submitOnEnter(form);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const isSaved = await status.run(async (signal, onProgress) => {
    const content = await newContent();
    if (content !== undefined) await send({ method: 'PUT', path, ...content, signal, onProgress });
    const changes = changedFields();
    if (Object.keys(changes).length > 0) await send({ method: 'PATCH', path, json: changes, signal });
    return 'Saved.';
  });
  if (isSaved) location.reload();
});

function toggle(isOpen: boolean): void {
  form.hidden = !isOpen;
  edit.setAttribute('aria-expanded', String(isOpen));
  if (isOpen) find<HTMLElement>(form, 'textarea, input').focus();
}

async function deleteNote(): Promise<void> {
  try {
    await send({ method: 'DELETE', path });
    location.assign(`${ROOT}/${feed}`);
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error;
    find(dialog, '.error').textContent = error.message;
  }
}

/** Title, alternative text and tags, if they differ from what the page came with. */
function changedFields(): Record<string, string | string[]> {
  const fields = form.querySelectorAll<HTMLInputElement>(':scope > input[name=alt], .pair input');
  const changed = [...fields].filter(({ value, defaultValue }) => value.trim() !== defaultValue);
  return Object.fromEntries(
    changed.map(({ name, value }) => [name, name === 'tags' ? value.split(',') : value]),
  );
}

function editText(): NewContent {
  const { text, updatePreview, content } = noteForm(form, feed, status.fail);
  const tags = find<HTMLInputElement>(form, '[name=tags]');
  edit.addEventListener('click', updatePreview, { once: true });
  return async () => {
    const { body, hasPictures } = await content(true);
    if (text.value === text.defaultValue && !hasPictures) return undefined;
    // The tags are for the new pictures.
    return { headers: hasPictures ? noteHeaders('', tags.value) : {}, body };
  };
}

function replacePicture(): NewContent {
  const input = form.querySelector<HTMLInputElement>('#replacement');
  if (input === null) return async () => undefined;
  const notice = find(form, '#replacement-notice');
  let replacement: Promise<Blob> | undefined;
  input.addEventListener('change', () => {
    const file = input.files?.[0];
    notice.textContent = '';
    replacement = file && prepare(file);
  });

  async function prepare(file: File): Promise<Blob> {
    const picture = await preparePicture(file, Number(input!.dataset.shrink), true);
    // What was shrunk has no position.
    if (picture.holdsPosition) notice.textContent = POSITION_WARNING;
    else if (picture.file !== file)
      notice.textContent = `Shrunk from ${bytesText(file.size)} to ${bytesText(picture.file.size)}.`;
    return picture.file;
  }

  return async () => {
    const body = await replacement;
    return body && { headers: { 'Content-Type': body.type }, body };
  };
}
