import { feedOfPage } from '../keeping/feeds.ts';
import { closest, find, ROOT } from '../page/elements.ts';
import { setValue } from '../page/fields.ts';
import { isComposed } from '../page/keys.ts';
import { tagsOf } from '../page/tags.ts';

const MAX_SHOWN = 6;

/** Path of the tags of this page's feed. */
const TAGS = `${ROOT}/api/v1/feeds/${feedOfPage()}/tags`;

/** Offers the tags of the feed while a tag is typed. */
export function completeTags(form: HTMLFormElement): void {
  const input = find<HTMLInputElement>(form, '[name=tags]');
  const list = find<HTMLUListElement>(form, '.known-tags');
  let active = -1;
  let asked = 0;

  input.addEventListener('input', offer);
  input.addEventListener('focus', offer);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (list.hidden || isComposed(event)) return;
    const { length } = list.children;
    if (event.key === 'ArrowDown') activate((active + 1) % length);
    else if (event.key === 'ArrowUp') activate((active <= 0 ? length : active) - 1);
    else if ((event.key === 'Enter' && !event.ctrlKey && !event.metaKey) || event.key === 'Tab') {
      if (active === -1) return;
      choose(list.children[active]!.textContent!);
    } else if (event.key === 'Escape') {
      close();
      // The box stays open.
      event.stopPropagation();
    } else return;
    event.preventDefault();
  });
  // Before the input loses the focus.
  list.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    const option = closest(event.target, 'li');
    if (option) choose(option.textContent!);
  });

  async function offer(): Promise<void> {
    asked += 1;
    const mine = asked;
    const { chosen, begun } = tagsIn(input.value);
    // Not when a script sets the tags.
    const isAsked = document.activeElement === input && (begun !== '' || chosen.length === 0);
    const known = (isAsked && (await tagsOf(TAGS, begun))) || [];
    if (mine !== asked) return;
    const matching = known.map(({ tag }) => tag).filter((tag) => tag !== begun && !chosen.includes(tag));
    list.replaceChildren(...matching.slice(0, MAX_SHOWN).map(optionOf));
    list.hidden = matching.length === 0;
    input.ariaExpanded = String(!list.hidden);
    activate(-1);
  }

  function optionOf(tag: string, index: number): HTMLElement {
    const option = document.createElement('li');
    option.role = 'option';
    option.id = `${list.id}-${index}`;
    option.textContent = tag;
    return option;
  }

  function activate(index: number): void {
    active = index;
    for (const [at, option] of [...list.children].entries()) option.ariaSelected = String(at === index);
    if (index === -1) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', `${list.id}-${index}`);
  }

  function choose(tag: string): void {
    // The note is being sent.
    if (input.readOnly) return;
    setValue(input, [...tagsIn(input.value).chosen, tag, ''].join(', '));
    close();
  }

  function close(): void {
    asked += 1;
    list.hidden = true;
    input.ariaExpanded = 'false';
    activate(-1);
  }
}

/** The tags that are complete, and the one that is being typed. */
function tagsIn(value: string): { chosen: string[]; begun: string } {
  const entries = value.split(',').map((entry) => entry.trim().toLowerCase());
  const begun = entries.pop()!;
  return { chosen: entries.filter((entry) => entry !== ''), begun };
}
