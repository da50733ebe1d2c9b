/** Path of the instance without a trailing slash; usually empty. Scripts are served at `<root>/static/`. */
export const ROOT = new URL('..', import.meta.url).pathname.replace(/\/$/, '');

/** The element of that selector, which the page must have. */
export function find<T extends Element>(root: ParentNode, selector: string): T {
  const element = root.querySelector<T>(selector);
  if (element === null) throw new Error(`this page has no ${selector}`);
  return element;
}

/** Calls the handler named by the `data-action` of the button that is pressed; until now they may be disabled. */
export function onActions(root: HTMLElement, handlers: Readonly<Record<string, () => void>>): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>('[data-action]')) button.disabled = false;
  root.addEventListener('click', ({ target }) => {
    const action = target instanceof Element && target.closest<HTMLElement>('[data-action]')?.dataset.action;
    if (action) handlers[action]?.();
  });
}
