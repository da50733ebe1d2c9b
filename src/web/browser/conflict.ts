import { find } from './elements.ts';
import { freshPage } from './fresh.ts';
import { RequestFailed } from './send.ts';

type Field = HTMLInputElement | HTMLTextAreaElement;

/**
 * Brings the editor of a note up to date after somebody else has changed the note: its ETag, the note above it, and each field
 * that was not changed here. Beside a field that was, it shows theirs.
 * @returns false if the note is gone
 * @throws RequestFailed if the note cannot be read now
 */
export async function takeInTheirs(root: HTMLElement, form: HTMLFormElement): Promise<boolean> {
  const { status, page } = await freshPage();
  // Known no more as it is.
  for (const theirs of root.querySelectorAll<HTMLElement>('.theirs')) theirs.hidden = true;
  if (status === 404) return false;
  const editor = page?.querySelector<HTMLElement>('#note-editor');
  if (!page || !editor) throw new RequestFailed('This note was changed meanwhile, and cannot be read now.');
  const { etag = '', type } = editor.dataset;
  root.dataset.etag = etag;
  const article = find<HTMLElement>(page, 'article');
  // The address of a replaced picture stays, and browsers keep what they have loaded from it.
  if (type !== 'text/markdown')
    for (const image of article.querySelectorAll('img')) image.src += `?${Date.now()}`;
  find(document, 'article').replaceWith(article);
  for (const field of form.querySelectorAll<Field>('[id^=note-]'))
    takeIn(field, find<Field>(page, `#${field.id}`).defaultValue);
  return true;
}

function takeIn(field: Field, theirs: string): void {
  const isMine = field.value !== field.defaultValue;
  field.defaultValue = theirs;
  if (isMine) showTheirs(field, theirs);
  else {
    field.value = theirs;
    field.dispatchEvent(new Event('input'));
  }
}

function showTheirs(field: Field, theirs: string): void {
  if (field instanceof HTMLTextAreaElement) {
    find<HTMLTextAreaElement>(document, '#their-text').value = theirs;
    find<HTMLElement>(document, '.theirs').hidden = false;
    return;
  }
  const id = `their-${field.id}`;
  const hint = document.getElementById(id) ?? document.createElement('p');
  hint.id = id;
  hint.className = 'hint';
  hint.textContent = theirs === '' ? 'Theirs is empty.' : `Theirs: ${theirs}`;
  field.after(hint);
  field.setAttribute('aria-describedby', id);
}
