/** Path of the instance without a trailing slash; usually empty. Scripts are served at `<root>/static/`. */
export const ROOT = new URL('..', import.meta.url).pathname.replace(/\/$/, '');

/** The element of that selector, which the page must have. */
export function find<T extends Element>(root: ParentNode, selector: string): T {
  const element = root.querySelector<T>(selector);
  if (element === null) throw new Error(`this page has no ${selector}`);
  return element;
}

/** The nearest element of that selector around what an event is about; null if there is none. */
export function closest<T extends Element = HTMLElement>(
  target: EventTarget | null,
  selector: string,
): T | null {
  return target instanceof Element ? target.closest<T>(selector) : null;
}

/** Calls the handler named by the `data-action` of the button that is pressed; until now they may be disabled. */
export function onActions(
  root: HTMLElement,
  handlers: Readonly<Record<string, (event: MouseEvent) => void>>,
): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>('[data-action]')) button.disabled = false;
  root.addEventListener('click', (event) => {
    const action = closest(event.target, '[data-action]')?.dataset.action;
    if (action) handlers[action]?.(event);
  });
}

/** Ignores the second click of a double click on buttons that send forms. It would confirm the answer to the first, such as a conflict, unread. */
export function sendOnce(root: HTMLElement | Document): void {
  root.addEventListener('click', (event) => {
    const { target, detail } = event as MouseEvent;
    if (detail > 1 && closest(target, 'button:not([type=button])') !== null) event.preventDefault();
  });
}
