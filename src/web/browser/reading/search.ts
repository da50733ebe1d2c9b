import { find } from '../page/elements.ts';
import { isComposed } from '../page/keys.ts';
import { type TagCount, tagsOf } from '../page/tags.ts';

// The search of a feed (`web/search.ts`), which works by itself but for its key and the tags of the feed.

/** More tags are found by typing their beginning. */
const MAX_TAGS = 100;

/** Lets `/` lead to the search and Escape back, and lists the tags of the feed once its filters are open. */
export function startSearch(): void {
  const form = document.querySelector<HTMLFormElement>('.find');
  if (form === null) return;
  const field = find<HTMLInputElement>(form, '[name=q]');
  let before: Element | null = null;

  document.addEventListener('keydown', (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    if (key !== '/' || ctrlKey || metaKey || altKey || isTypedInto(target)) return;
    event.preventDefault();
    before = document.activeElement;
    field.focus();
    field.select();
  });
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || isComposed(event)) return;
    // What was typed stays.
    event.preventDefault();
    field.blur();
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
  });
  // An address says only what was filled in.
  form.addEventListener('formdata', ({ formData }) => {
    for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
  });
  listTags(form);
}

/** Whether a key is for whoever types, or for what is open over the page. */
function isTypedInto(target: EventTarget | null): boolean {
  return (
    !(target instanceof Element) ||
    target.closest('input, textarea, select, [contenteditable]') !== null ||
    document.querySelector('dialog[open], :popover-open') !== null
  );
}

function listTags(form: HTMLFormElement): void {
  const filters = find<HTMLDetailsElement>(form, 'details');
  const list = find<HTMLElement>(form, '.tags');
  const field = find<HTMLInputElement>(form, '[name=tag]');
  let asked = 0;
  const show = async (begun: string) => {
    asked += 1;
    const mine = asked;
    const tags = await tagsOf(list.dataset.tags!, begun);
    if (mine === asked && tags !== undefined) list.replaceChildren(...tags.slice(0, MAX_TAGS).map(itemOf));
  };
  filters.addEventListener('toggle', () => filters.open && show(''));
  field.addEventListener('input', () => show(field.value));
}

/** A tag that narrows what the page shows. */
function itemOf({ tag, count }: TagCount): HTMLElement {
  const query = new URLSearchParams(location.search);
  query.delete('before');
  query.set('tag', tag);
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = `?${query}`;
  link.append(part('tag', tag), ' ', part('count', String(count)));
  item.append(link);
  return item;
}

function part(kind: string, text: string): HTMLElement {
  const element = document.createElement('span');
  element.className = kind;
  element.textContent = text;
  return element;
}
