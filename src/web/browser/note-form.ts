import { find } from './elements.ts';
import { PictureList } from './picture-list.ts';
import { ROOT } from './root.ts';
import { RequestFailed, send, type UploadStatus } from './send.ts';

/** Pause in typing before the preview is rendered, ms. */
const DELAY_MS = 250;

/** The fields of a note in markdown: text, pictures and preview. */
export class NoteForm {
  readonly text: HTMLTextAreaElement;
  readonly updatePreview: () => void;
  /** Undefined if the feed takes no pictures. */
  readonly pictures: PictureList | undefined;

  constructor(form: HTMLFormElement, feed: string, status: UploadStatus) {
    this.text = find(form, 'textarea');
    if (form.querySelector('.pictures') !== null) this.pictures = new PictureList(form, status);
    this.updatePreview = showPreview(form, feed, (name) => this.pictures?.urlOf(name));
  }

  get isBlank(): boolean {
    return this.text.value.trim() === '';
  }

  /** The multipart body, once the pictures are prepared. */
  async content(hasText: boolean): Promise<{ body: FormData; hasPictures: boolean }> {
    const body = new FormData();
    // A file part, because browsers normalize the line breaks of a field.
    if (hasText) body.append('text', new Blob([this.text.value], { type: 'text/markdown' }), 'note.md');
    return { body, hasPictures: (await this.pictures?.appendTo(body)) ?? false };
  }
}

/** Title and tags as headers, if they are not blank. */
export function noteHeaders(title: string, tags: string): Record<string, string> {
  return {
    ...(title.trim() !== '' && { 'X-Note-Title': title.trim() }),
    ...(tags.trim() !== '' && { 'X-Note-Tags': tags.trim() }),
  };
}

/** Ctrl or ⌘ with Enter sends the form. */
export function submitOnEnter(form: HTMLFormElement): void {
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

/**
 * Shows the text of a form as the service renders it, while it is written.
 * @param localUrl object URL of a picture that is not uploaded yet
 * @returns updates the preview after a pause in typing, and aborts the request that is under way
 */
function showPreview(
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
