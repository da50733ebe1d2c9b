import './copy.ts';
import { takeInTheirs } from './conflict.ts';
import { find, onActions, ROOT } from './elements.ts';
import { noteForm, noteHeaders, submitOnEnter } from './note-form.ts';
import {
  type ApiRequest,
  forFeed,
  isRefused,
  RequestFailed,
  send,
  sendForEtag,
  uploadStatus,
} from './send.ts';
import { POSITION_WARNING, preparePicture } from './shrink.ts';
import { bytesText } from './text.ts';

const root = find<HTMLElement>(document, '#note-editor');
const { feed = '', id = '', type = '', identity = '' } = root.dataset;
const path = `${ROOT}/api/v1/feeds/${feed}/notes/${encodeURIComponent(id)}`;
const form = find<HTMLFormElement>(root, '#edit-note');
const edit = find<HTMLButtonElement>(root, '[data-action=edit]');
const dialog = find<HTMLDialogElement>(root, 'dialog');
const status = uploadStatus(form);

/**
 * The content to send; undefined if it is unchanged.
 * @param isNew also an unchanged text, for a note of its own
 */
type Content = (isNew?: boolean) => Promise<Pick<ApiRequest, 'headers' | 'body'> | undefined>;

const content = type === 'text/markdown' ? editText() : replacePicture();

onActions(root, {
  edit: () => toggle(form.hidden !== false),
  close() {
    form.reset();
    toggle(false);
    showPanel(undefined);
    edit.focus();
  },
  delete: () => dialog.showModal(),
  confirm: () => void deleteNote(),
  theirs() {
    form.reset();
    location.reload();
  },
  mine: () => form.requestSubmit(),
  repost: () => void repost(),
  leave: toFeed,
});
submitOnEnter(form);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  let isConflict = false;
  const isSaved = await status.run(async (signal, onProgress) => {
    try {
      const changes = changedFields();
      if (Object.keys(changes).length > 0) await write({ method: 'PATCH', json: changes, signal });
      const body = await content();
      // Last, because pictures that came with a text must not be sent twice.
      if (body !== undefined) await write({ method: 'PUT', ...body, signal, onProgress });
    } catch (error) {
      if (!isRefused(error, 'changed', 'not_found')) throw error;
      isConflict = true;
      throw new RequestFailed('What you wrote is not saved yet.');
    }
    return 'Saved.';
  });
  if (isSaved) location.reload();
  else if (isConflict) await showConflict();
});

/** Changes the note if it is still the one that this page knows. */
async function write(request: Omit<ApiRequest, 'path'>): Promise<void> {
  const { etag = '' } = root.dataset;
  const headers = { ...request.headers, 'If-Match': etag };
  root.dataset.etag = (await sendForEtag({ ...request, path, headers })).etag;
}

async function showConflict(): Promise<void> {
  try {
    const isThere = await takeInTheirs(root, form);
    if (!form.hidden) showPanel(isThere ? 'changed' : 'deleted');
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error;
    status.fail(error.message);
  }
}

/** Says what happened to the note meanwhile. */
function showPanel(what: 'changed' | 'deleted' | undefined): void {
  for (const panel of root.querySelectorAll<HTMLElement>('#changed, #deleted')) {
    panel.hidden = panel.id !== what;
    if (!panel.hidden) panel.focus();
  }
}

/** Posts what was written as a note of its own, because the note that it was for is gone. */
async function repost(): Promise<void> {
  const valueIn = (name: string) => form.querySelector<HTMLInputElement>(`#note-${name}`)?.value ?? '';
  let posted = '';
  const isPosted = await status.run(async (signal, onProgress) => {
    const sent = await content(true);
    if (sent === undefined) throw new RequestFailed('Choose a picture to post.');
    const headers = {
      ...sent.headers,
      ...noteHeaders(valueIn('title'), valueIn('tags')),
      ...(valueIn('alt') !== '' && { 'X-Note-Alt': valueIn('alt') }),
      ...forFeed(identity),
    };
    const request = {
      method: 'POST',
      path: `${ROOT}/${feed}`,
      headers,
      body: sent.body,
      signal,
      onProgress,
    } as const;
    posted = (await send<{ id: string }>(request)).id;
    return 'Posted.';
  });
  if (isPosted) location.assign(`${ROOT}/${feed}/${encodeURIComponent(posted)}`);
}

function toFeed(): void {
  location.assign(`${ROOT}/${feed}`);
}

function toggle(isOpen: boolean): void {
  form.hidden = !isOpen;
  edit.setAttribute('aria-expanded', String(isOpen));
  if (isOpen) find<HTMLElement>(form, 'textarea, input').focus();
}

async function deleteNote(): Promise<void> {
  try {
    await write({ method: 'DELETE' });
    toFeed();
  } catch (error) {
    if (isRefused(error, 'not_found')) return toFeed();
    if (!(error instanceof RequestFailed)) throw error;
    const isChanged = error.code === 'changed';
    if (isChanged) await showConflict();
    find(dialog, '.error').textContent = isChanged
      ? 'This note was changed since you opened the page, which shows it now as it is. Delete it all the same?'
      : error.message;
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

function editText(): Content {
  const { text, updatePreview, content: formContent } = noteForm(form, feed, status.fail);
  const tags = find<HTMLInputElement>(form, '[name=tags]');
  edit.addEventListener('click', updatePreview, { once: true });
  return async (isNew = false) => {
    const { body, hasPictures } = await formContent(true);
    if (text.value === text.defaultValue && !hasPictures && !isNew) return undefined;
    // The tags are for the new pictures.
    return { headers: hasPictures ? noteHeaders('', tags.value) : {}, body };
  };
}

function replacePicture(): Content {
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
