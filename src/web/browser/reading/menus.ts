import { closest } from '../page/elements.ts';
import { toast } from '../page/toast.ts';

// The menus of notes: `details` elements with links and buttons. The browser opens them; this script fills and closes them, and moves
// the focus in them.

/** Closes menus where people expect it, and lets arrow keys move in them. */
export function startMenus(): void {
  document.addEventListener('click', ({ target }) => {
    const summary = closest(target, '.menu > summary');
    if (summary) fill(summary.parentElement!);
  });
  document.addEventListener('click', ({ target }) =>
    closeUnless((menu) => menu.querySelector('summary')!.contains(target as Node)),
  );
  document.addEventListener('focusin', ({ target }) => closeUnless((menu) => menu.contains(target as Node)));
  document.addEventListener('keydown', onKey);
  document.addEventListener('click', ({ target }) => {
    const menu = closest(target, '.menu [data-action=copy-link]')?.closest('.menu');
    const link = menu?.querySelector<HTMLAnchorElement>('.read-link');
    if (link) void copyLink(link.href);
  });
}

async function copyLink(link: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(link);
    toast('The link is copied.');
  } catch {
    // Without https a page may not copy.
    toast(`Copy it by hand: ${link}`);
  }
}

/** Puts the choices into a menu that has none yet. */
function fill(menu: HTMLElement): void {
  if (menu.querySelector('ul') !== null) return;
  const { content } = document.querySelector<HTMLTemplateElement>('#note-menu')!;
  const choices = document.importNode(content, true);
  const note = menu.closest<HTMLElement>('.note')!;
  choices.querySelector<HTMLAnchorElement>('.edit')!.href =
    note.querySelector<HTMLAnchorElement>('.when')!.href;
  const readLink = choices.querySelector<HTMLAnchorElement>('.read-link');
  if (readLink !== null) readLink.href += encodeURIComponent(note.dataset.id!);
  menu.append(choices);
}

function closeUnless(isKept: (menu: HTMLDetailsElement) => boolean): void {
  for (const menu of document.querySelectorAll<HTMLDetailsElement>('details.menu[open]'))
    if (!isKept(menu)) close(menu);
}

function close(menu: HTMLDetailsElement): void {
  const hasFocus = menu.contains(document.activeElement);
  menu.open = false;
  if (hasFocus) menu.querySelector('summary')!.focus({ preventScroll: true });
}

function onKey(event: KeyboardEvent): void {
  const menu = closest<HTMLDetailsElement>(event.target, 'details.menu');
  if (!menu) return;
  if (event.key === 'Escape' && menu.open) {
    close(menu);
  } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    fill(menu);
    menu.open = true;
    move(menu, event.key === 'ArrowDown' ? 1 : -1);
  } else return;
  event.preventDefault();
}

/** Moves the focus to the next choice, round and round; from the button of the menu to the first or the last. */
function move(menu: HTMLDetailsElement, step: 1 | -1): void {
  const choices = [...menu.querySelectorAll<HTMLElement>('a, button')];
  const at = choices.indexOf(document.activeElement as HTMLElement);
  const next = at === -1 && step === -1 ? choices.length - 1 : at + step;
  choices.at(next % choices.length)?.focus();
}
