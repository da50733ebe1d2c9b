import { find } from './elements.ts';
import { ROOT } from './root.ts';
import { RequestFailed, send } from './send.ts';

const DELAY_MS = 250;

/**
 * Shows the text of a form as the service renders it, while it is written.
 * @param localUrl object URL of a picture that is not uploaded yet
 * @returns updates the preview after a pause in typing, and aborts the request that is under way
 */
export function showPreview(
  form: HTMLFormElement,
  feed: string,
  localUrl: (name: string) => string | undefined,
): () => void {
  const box = find<HTMLDetailsElement>(form, '.preview');
  const body = find(box, '.body');
  const text = find<HTMLTextAreaElement>(form, 'textarea');
  const path = `${ROOT}/api/v1/feeds/${feed}/preview`;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = new AbortController();

  function update(): void {
    clearTimeout(timer);
    running.abort();
    box.hidden = text.value.trim() === '';
    if (box.hidden) body.replaceChildren();
    else if (box.open) timer = setTimeout(render, DELAY_MS);
  }

  async function render(): Promise<void> {
    running = new AbortController();
    const { signal } = running;
    try {
      const json = { text: text.value };
      const { html } = await send<{ html: string }>({ method: 'POST', path, json, signal });
      if (!signal.aborted) body.replaceChildren(rendered(html, localUrl));
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (!signal.aborted) body.textContent = error.message;
    }
  }

  text.addEventListener('input', update);
  box.addEventListener('toggle', update);
  return update;
}

/** Parses into a `<template>`, because its images do not load, and inserts the local URLs there. */
function rendered(html: string, localUrl: (name: string) => string | undefined): DocumentFragment {
  const template = document.createElement('template');
  // The service escapes what it renders, and the page's policy runs no scripts in it.
  template.innerHTML = html;
  for (const image of template.content.querySelectorAll('img')) {
    const name = image.getAttribute('src')?.split('/').at(-1) ?? '';
    const url = localUrl(name) ?? localUrl(decode(name));
    if (url !== undefined) image.src = url;
  }
  return template.content;
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
