import { find, ROOT } from './elements.ts';
import { pictureList } from './picture-list.ts';
import { RequestFailed, send } from './send.ts';

/** Pause in typing before the preview is rendered, ms. */
const DELAY_MS = 250;

/**
 * The fields of a note in markdown: text, pictures, and a preview of the text as the service renders it.
 * @param explain shows why a picture is refused
 */
export function noteForm(form: HTMLFormElement, feed: string, explain: (sentence: string) => void) {
  const text = find<HTMLTextAreaElement>(form, 'textarea');
  const preview = find<HTMLDetailsElement>(form, '.preview');
  const shown = find(preview, '.body');
  /** Undefined if the feed takes no pictures. */
  const pictures = form.querySelector('.pictures') === null ? undefined : pictureList(form, explain);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = new AbortController();
  text.addEventListener('input', updatePreview);
  preview.addEventListener('toggle', updatePreview);

  /** Renders after a pause in typing; aborts the request that is under way. */
  function updatePreview(): void {
    clearTimeout(timer);
    running.abort();
    preview.hidden = text.value.trim() === '';
    if (preview.hidden) shown.replaceChildren();
    else if (preview.open) timer = setTimeout(render, DELAY_MS);
  }

  async function render(): Promise<void> {
    running = new AbortController();
    const { signal } = running;
    const path = `${ROOT}/api/v1/feeds/${feed}/preview`;
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
      const url = pictures?.urlOf(name) ?? pictures?.urlOf(decode(name));
      if (url !== undefined) image.src = url;
    }
    return template.content;
  }

  /** The multipart body, once the pictures are prepared. */
  async function content(hasText: boolean): Promise<{ body: FormData; hasPictures: boolean }> {
    const body = new FormData();
    // A file part, because browsers normalize the line breaks of a field.
    if (hasText) body.append('text', new Blob([text.value], { type: 'text/markdown' }), 'note.md');
    return { body, hasPictures: (await pictures?.appendTo(body)) ?? false };
  }

  return { text, pictures, updatePreview, content };
}

/** Title and tags as headers, if they are not blank. */
export function noteHeaders(title: string, tags: string): Record<string, string> {
  const headers = { 'X-Note-Title': title.trim(), 'X-Note-Tags': tags.trim() };
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
}

/** Ctrl or ⌘ with Enter sends the form. */
export function submitOnEnter(form: HTMLFormElement): void {
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
