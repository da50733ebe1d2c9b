import { find } from './elements.ts';
import { ROOT } from './root.ts';
import { RequestFailed, sendJson } from './send.ts';

const DELAY_MS = 250;

/** The text of a form as the service renders it, shown while it is written. */
export class Preview {
  readonly #box: HTMLDetailsElement;
  readonly #body: HTMLElement;
  readonly #text: HTMLTextAreaElement;
  readonly #path: string;
  readonly #localUrl: (name: string) => string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | undefined;

  /** @param localUrl object URL of a picture that is not uploaded yet */
  constructor(form: HTMLFormElement, feed: string, localUrl: (name: string) => string | undefined) {
    this.#box = find(form, '.preview');
    this.#body = find(this.#box, '.body');
    this.#text = find(form, 'textarea');
    this.#path = `${ROOT}/api/v1/feeds/${feed}/preview`;
    this.#localUrl = localUrl;
    this.#text.addEventListener('input', () => this.update());
    this.#box.addEventListener('toggle', () => this.update());
  }

  /** Renders the text after a pause in typing; aborts the request that is under way. */
  update(): void {
    clearTimeout(this.#timer);
    this.#running?.abort();
    const isBlank = this.#text.value.trim() === '';
    this.#box.hidden = isBlank;
    if (isBlank) this.#body.replaceChildren();
    else if (this.#box.open) this.#timer = setTimeout(() => this.#render(), DELAY_MS);
  }

  async #render(): Promise<void> {
    this.#running = new AbortController();
    const { signal } = this.#running;
    try {
      const text = this.#text.value;
      const { html } = await sendJson<{ html: string }>('POST', this.#path, { text }, signal);
      if (!signal.aborted) this.#show(html);
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (!signal.aborted) this.#body.textContent = error.message;
    }
  }

  /** Parses into a `<template>`, because its images do not load, and inserts the local URLs there. */
  #show(html: string): void {
    const template = document.createElement('template');
    // The service escapes what it renders, and the page's policy runs no scripts in it.
    template.innerHTML = html;
    for (const image of template.content.querySelectorAll('img')) {
      const name = image.getAttribute('src')?.split('/').at(-1) ?? '';
      const url = this.#localUrl(name) ?? this.#localUrl(decode(name));
      if (url !== undefined) image.src = url;
    }
    this.#body.replaceChildren(template.content);
  }
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
