import { find } from '../page/elements.ts';
import { defaultOf, type Field, isChanged, noteFields, setValue } from '../page/fields.ts';
import { freshPage } from '../page/fresh.ts';
import { RequestFailed } from '../page/send.ts';

/** The form of a note's edit as the note's page has it now; undefined if that page has none or is gone. */
export async function freshForm(url: string): Promise<{ status: number; form?: HTMLFormElement }> {
  const { status, page } = await freshPage(url);
  const form = page?.querySelector<HTMLTemplateElement>('#edit-box')?.content.querySelector('form');
  return form ? { status, form: document.importNode(form, true) } : { status };
}

/**
 * Brings an edit up to date after somebody else has changed the note: its ETag, and each field that was not changed here. Beside a
 * field that was, it shows theirs.
 * @param url the note's page
 * @returns false if the note is gone
 * @throws RequestFailed if the note cannot be read now
 */
export async function takeInTheirs(form: HTMLFormElement, url: string): Promise<boolean> {
  const { status, form: fresh } = await freshForm(url);
  for (const theirs of form.querySelectorAll<HTMLElement>('.theirs')) theirs.hidden = true;
  if (status === 404) return false;
  if (fresh === undefined)
    throw new RequestFailed('This note was changed meanwhile, and cannot be read now.');
  const theirs = new Map(noteFields(fresh).map((field) => [field.name, field]));
  for (const field of noteFields(form)) takeIn(form, field, theirs.get(field.name)!);
  // Last: until theirs is shown, saving mine must be refused again.
  form.dataset.etag = fresh.dataset.etag;
  return true;
}

/** Says what happened to the note meanwhile, and moves the focus there. */
export function showMeanwhile(form: HTMLFormElement, what: 'changed' | 'deleted'): void {
  for (const panel of form.querySelectorAll<HTMLElement>('.meanwhile')) {
    panel.hidden = !panel.classList.contains(what);
    if (!panel.hidden) panel.focus();
  }
}

function takeIn(form: HTMLFormElement, field: Field, fresh: Field): void {
  const theirs = defaultOf(fresh);
  const isMine = isChanged(field);
  const mine = field.value;
  const before = defaultOf(field);
  if (field instanceof HTMLSelectElement) field.replaceChildren(...fresh.childNodes);
  else field.defaultValue = theirs;
  setValue(field, isMine ? mine : theirs);
  if (isMine && theirs !== before && theirs !== mine) showTheirs(form, field, theirs);
}

function showTheirs(form: HTMLFormElement, field: Field, theirs: string): void {
  if (field instanceof HTMLTextAreaElement) {
    const shown = find<HTMLTextAreaElement>(form, '.theirs > textarea');
    shown.value = theirs;
    shown.parentElement!.hidden = false;
    return;
  }
  const id = `${field.id}-theirs`;
  const hint = document.getElementById(id) ?? document.createElement('p');
  hint.id = id;
  hint.className = 'hint theirs';
  hint.hidden = false;
  hint.textContent = theirs === '' ? 'Theirs is empty.' : `Theirs: ${theirs}`;
  const described = field.getAttribute('aria-describedby') ?? '';
  if (!described.split(' ').includes(id)) field.setAttribute('aria-describedby', `${described} ${id}`.trim());
  (field.closest('.titled, .bar, .options') ?? field).after(hint);
}
