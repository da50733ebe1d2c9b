import { percentDecoded } from '../../../feeds/urls.ts';
import { find, ROOT } from '../page/elements.ts';
import { RequestFailed, send } from '../page/send.ts';

/** Pause in typing before the preview is rendered, ms. */
const DELAY_MS = 250;
/** localStorage key: whether the preview was asked for. */
const WANTED = 'preview';
/** Where the preview stands beside the text (`styles/writing.css`). */
const WIDE = '(min-width: 70rem)';

/**
 * Shows a text as the service renders it, until the tool is pressed again.
 * @param pictureUrl the address of a picture that is not uploaded yet, by its name
 */
export function preview(
  form: HTMLFormElement,
  text: HTMLTextAreaElement,
  pictureUrl: (name: string) => string | undefined,
): void {
  const shown = find<HTMLElement>(form, '.preview');
  const tool = find<HTMLElement>(form, '[data-tool=eye]');
  let isWanted = wanted() ?? matchMedia(WIDE).matches;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = new AbortController();
  text.addEventListener('input', update);
  tool.addEventListener('click', () => {
    isWanted = !isWanted;
    remember(isWanted);
    update();
  });
  update();

  /** Renders after a pause in typing; aborts the request that is under way. */
  function update(): void {
    clearTimeout(timer);
    running.abort();
    tool.ariaPressed = String(isWanted);
    shown.hidden = !isWanted || text.value.trim() === '';
    if (shown.hidden) shown.replaceChildren();
    else timer = setTimeout(render, DELAY_MS);
  }

  async function render(): Promise<void> {
    running = new AbortController();
    const { signal } = running;
    const path = `${ROOT}/api/v1/feeds/${form.dataset.feed}/preview`;
    try {
      const json = { text: text.value };
      const { html } = await send<{ html: string }>({ method: 'POST', path, json, signal });
      if (!signal.aborted) shown.replaceChildren(withLocalPictures(html));
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (!signal.aborted) shown.textContent = error.message;
    }
  }

  /** Parses into a `<template>`, because its images do not load, and shows pictures that are not uploaded yet. */
  function withLocalPictures(html: string): DocumentFragment {
    const template = document.createElement('template');
    // The service escapes what it renders, and the page's policy runs no scripts in it.
    template.innerHTML = html;
    for (const image of template.content.querySelectorAll('img')) {
      const name = image.getAttribute('src')?.split('/').at(-1) ?? '';
      const url = pictureUrl(name) ?? pictureUrl(percentDecoded(name));
      if (url === undefined) continue;
      image.src = url;
      const link = image.closest<HTMLAnchorElement>('a.picture');
      if (link !== null) link.href = url;
    }
    return template.content;
  }
}

function wanted(): boolean | undefined {
  try {
    const kept = localStorage.getItem(WANTED);
    return kept === null ? undefined : kept === 'yes';
  } catch {
    return undefined;
  }
}

function remember(isWanted: boolean): void {
  try {
    localStorage.setItem(WANTED, isWanted ? 'yes' : 'no');
  } catch {
    // Then it is asked for again.
  }
}
