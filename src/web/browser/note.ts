import './copy.ts';
import { bytesText, find } from './elements.ts';
import { noteHeaders, submitOnEnter } from './note-form.ts';
import { PictureList } from './picture-list.ts';
import { Preview } from './preview.ts';
import { ROOT } from './root.ts';
import { NotDone, type Sent, send, sendJson } from './send.ts';
import { Sending } from './sending.ts';
import { prepared } from './shrink.ts';

const root = find<HTMLElement>(document, '#note-editor');
const { feed = '', id = '', type = '' } = root.dataset;
const path = `${ROOT}/api/v1/feeds/${feed}/notes/${encodeURIComponent(id)}`;
const form = find<HTMLFormElement>(root, '#edit-note');
const edit = find<HTMLButtonElement>(root, '[data-action=edit]');
const dialog = find<HTMLDialogElement>(root, 'dialog');
const sending = new Sending(form);

type Progress = NonNullable<Sent['onProgress']>;
/** Sends new content, if there is any. */
type SendContent = (signal: AbortSignal, onProgress: Progress) => Promise<unknown>;

const sendContent = type === 'text/markdown' ? textEditing() : pictureReplacing();

edit.disabled = false;
edit.addEventListener('click', () => toggle(form.hidden !== false));
find(form, '[data-action=close]').addEventListener('click', () => {
  form.reset();
  toggle(false);
  edit.focus();
});
submitOnEnter(form);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const isSaved = await sending.run(async (signal, onProgress) => {
    await sendContent(signal, onProgress);
    const changes = changedTexts();
    if (Object.keys(changes).length > 0) await sendJson('PATCH', path, changes, signal);
    return 'Saved.';
  });
  if (isSaved) location.reload();
});

find<HTMLButtonElement>(root, '[data-action=delete]').disabled = false;
find(root, '[data-action=delete]').addEventListener('click', () => dialog.showModal());
find(dialog, '[data-action=confirm]').addEventListener('click', async () => {
  try {
    await send({ method: 'DELETE', path });
    location.assign(`${ROOT}/${feed}`);
  } catch (error) {
    if (!(error instanceof NotDone)) throw error;
    find(dialog, '.error').textContent = error.message;
  }
});

function toggle(isOpen: boolean): void {
  form.hidden = !isOpen;
  edit.setAttribute('aria-expanded', String(isOpen));
  if (isOpen) find<HTMLElement>(form, 'textarea, input').focus();
}

/** Title, alternative text and tags, as far as they are others than the page came with. */
function changedTexts(): Record<string, string | string[]> {
  const changes: Record<string, string | string[]> = {};
  for (const { name, value, defaultValue } of form.querySelectorAll<HTMLInputElement>(
    ':scope > input[name=alt], .pair input',
  ))
    if (value.trim() !== defaultValue) changes[name] = name === 'tags' ? value.split(',') : value;
  return changes;
}

/** The text of a markdown note, with pictures that are new in it. */
function textEditing(): SendContent {
  const text = find<HTMLTextAreaElement>(form, 'textarea');
  const before = text.value;
  const fail = (sentence: string) => sending.fail(sentence);
  const pictures = form.querySelector('.pictures')
    ? new PictureList(form, () => preview.update(), fail)
    : undefined;
  const preview = new Preview(form, feed, (name) => pictures?.urlOf(name));
  edit.addEventListener('click', () => preview.update(), { once: true });
  form.addEventListener('reset', () => pictures?.clear());
  return async (signal, onProgress) => {
    await pictures?.ready;
    if (text.value === before && (pictures?.isEmpty ?? true)) return;
    const body = new FormData();
    body.append('text', new Blob([text.value], { type: 'text/markdown' }), 'note.md');
    await pictures?.appendTo(body);
    const { 'X-Note-Tags': tags } = noteHeaders('', find<HTMLInputElement>(form, '[name=tags]').value);
    // The tags are for the new pictures.
    const headers: Record<string, string> =
      tags !== undefined && !pictures?.isEmpty ? { 'X-Note-Tags': tags } : {};
    await send({ method: 'PUT', path, headers, body, signal, onProgress });
  };
}

/** Another picture in the place of a picture note. */
function pictureReplacing(): SendContent {
  const input = form.querySelector<HTMLInputElement>('#replacement');
  if (input === null) return async () => {};
  const notice = find(form, '#replacement-notice');
  const { shrink, largest } = input.dataset;
  const limits = { shrink: Number(shrink), largest: Number(largest) };
  let replacement: Promise<Blob | undefined> = Promise.resolve(undefined);
  input.addEventListener('change', () => {
    const file = input.files?.[0];
    notice.textContent = '';
    replacement = file === undefined ? Promise.resolve(undefined) : look(file);
  });

  async function look(file: File): Promise<Blob | undefined> {
    const picture = await prepared(file, limits, { keepsType: true });
    const sentences = [
      ...(picture.isShrunk
        ? [`Shrunk from ${bytesText(file.size)} to ${bytesText(picture.file.size)}.`]
        : []),
      ...(picture.holdsPosition
        ? ['This picture says where it was taken. Everybody who reads the feed can find that out.']
        : []),
    ];
    notice.textContent = sentences.join(' ');
    return picture.file;
  }

  return async (signal, onProgress) => {
    const body = await replacement;
    if (body !== undefined)
      await send({ method: 'PUT', path, headers: { 'Content-Type': body.type }, body, signal, onProgress });
  };
}
