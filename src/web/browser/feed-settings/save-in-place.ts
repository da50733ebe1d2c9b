import { toast } from '../page/toast.ts';
import { isUnsaved } from './stored.ts';

const UNREACHED = 'The service cannot be reached. What you typed is still here: please try again.';

/**
 * Sends a form of the settings page and shows its section as the service answers it, so that what was typed into other sections
 * stays.
 */
export async function saveInPlace(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
  const section = form.closest('section')!;
  if (button.disabled) return;
  button.disabled = true;
  const known = new Map(fieldsOf(section).map((field) => [field.id, stateOf(field)]));
  const options = {
    method: 'POST',
    body: new URLSearchParams(new FormData(form) as never),
    headers: { Accept: 'text/html' },
  };
  const answer = await fetch(form.action, options).catch(() => undefined);
  // The connection may end in the middle of the page.
  const text = await answer?.text().catch(() => undefined);
  button.disabled = false;
  if (answer === undefined || text === undefined) return say(form, UNREACHED);
  const page = new DOMParser().parseFromString(text, 'text/html');
  const fresh = page.getElementById(section.id);
  const problem = page.querySelector('main > .alert');
  // The page for logging in, or for unlocking the feed, has no such section. Neither has one of a service that has failed.
  if (fresh === null)
    return say(
      form,
      answer.status >= 500
        ? UNREACHED
        : 'This is not saved, because this page is locked by now. Open it in another tab, and then save here.',
    );
  if (problem !== null) return say(form, problem.textContent!);
  document.title = page.title;
  const done = fresh.querySelector('.done');
  done?.remove();
  const place = [...section.querySelectorAll('form')].indexOf(form);
  // While the form was saved, or into another form of the section.
  const typed = fieldsOf(section).filter((field) =>
    field.form === form ? stateOf(field) !== known.get(field.id) : isUnsaved(field),
  );
  const used = typed.find((field) => field === document.activeElement);
  section.replaceChildren(...document.adoptNode(fresh).childNodes);
  const fields = new Map(fieldsOf(section).map((field) => [field.id, field]));
  for (const { id, value, checked } of typed)
    if (fields.has(id)) Object.assign(fields.get(id)!, { value, checked });
  const saved = section.querySelectorAll('form')[place]?.querySelector<HTMLElement>('.actions button');
  const next = section.querySelector<HTMLElement>('[autofocus]') ?? fields.get(used?.id ?? '') ?? saved;
  next?.focus();
  if (done !== null) toast(done.textContent!);
}

function fieldsOf(section: HTMLElement): HTMLInputElement[] {
  return [...section.querySelectorAll<HTMLInputElement>('input[id]')];
}

/** What a person can change of a field. */
function stateOf({ value, checked }: HTMLInputElement): string {
  return `${value} ${checked}`;
}

function say(form: HTMLFormElement, sentence: string): void {
  const error = form.querySelector('.not-saved') ?? document.createElement('p');
  error.className = 'error not-saved';
  error.role = 'alert';
  error.textContent = sentence;
  form.append(error);
}
