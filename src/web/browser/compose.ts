import './copy.ts';
import { Draft } from './draft.ts';
import { find } from './elements.ts';
import { liveNotes } from './live.ts';
import { noteHeaders, submitOnEnter } from './note-form.ts';
import { PictureList } from './picture-list.ts';
import { Preview } from './preview.ts';
import { ROOT } from './root.ts';
import { send } from './send.ts';
import { Sending } from './sending.ts';

const form = find<HTMLFormElement>(document, '#compose');
const { feed = '', draft: draftKey = '' } = form.dataset;
const text = find<HTMLTextAreaElement>(form, '[name=text]');
const title = find<HTMLInputElement>(form, '[name=title]');
const tags = find<HTMLInputElement>(form, '[name=tags]');
const sending = new Sending(form);
const draft = new Draft(draftKey);
const pictures = form.querySelector('.pictures')
  ? new PictureList(
      form,
      () => preview.update(),
      (sentence) => sending.fail(sentence),
    )
  : undefined;
const preview = new Preview(form, feed, (name) => pictures?.urlOf(name));

/** Fields that a draft keeps: a password is none of them. */
const KEPT = [text, title, tags];

for (const field of KEPT) field.value = draft.read()[field.name] ?? field.value;
preview.update();
form.addEventListener('input', () => {
  draft.write(Object.fromEntries(KEPT.map(({ name, value }) => [name, value])));
});

submitOnEnter(form);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  await pictures?.ready;
  if (text.value.trim() === '' && (pictures?.isEmpty ?? true)) {
    sending.fail(pictures ? 'Write something, or add a picture.' : 'Write something.');
    text.focus();
    return;
  }
  const password = form.querySelector<HTMLInputElement>('[name=password]')?.value ?? '';
  const isPosted = await sending.run(async (signal, onProgress) => {
    const body = new FormData();
    // A file part, because the line breaks of a field would be changed.
    if (text.value.trim() !== '')
      body.append('text', new Blob([text.value], { type: 'text/markdown' }), 'note.md');
    await pictures?.appendTo(body);
    const headers = {
      ...noteHeaders(title.value, tags.value),
      ...(password !== '' && { 'X-Feed-Password': password }),
    };
    await send({ method: 'POST', path: `${ROOT}/${feed}`, headers, body, signal, onProgress });
    return 'Posted.';
  });
  if (!isPosted) return;
  draft.forget();
  form.reset();
  pictures?.clear();
  preview.update();
  // The first note makes another page of this one.
  if (document.querySelector('[data-empty-feed]') !== null) location.reload();
  else if (new URLSearchParams(location.search).size > 0) location.assign(location.pathname);
  else await liveNotes?.refresh();
});
