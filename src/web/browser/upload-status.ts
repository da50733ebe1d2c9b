import { find } from './elements.ts';
import { type ApiRequest, RequestFailed } from './send.ts';

/** Sends something; returns the sentence to show at the end. */
export type Upload = (signal: AbortSignal, onProgress: ApiRequest['onProgress']) => Promise<string>;

/** Progress, result and cancel button of a form, or of another part of a page, that sends something. */
export class UploadStatus {
  readonly #form: HTMLElement;
  readonly #bar: HTMLElement;
  readonly #progress: HTMLProgressElement;
  readonly #status: HTMLElement;
  readonly #error: HTMLElement;
  readonly #submit: HTMLButtonElement | null;
  #running: AbortController | undefined;

  constructor(form: HTMLElement) {
    this.#form = form;
    this.#bar = find(form, '.sending');
    this.#progress = find(form, 'progress');
    this.#status = find(form, '.status');
    this.#error = find(form, '.error');
    this.#submit = form.querySelector('button.primary');
    this.#setBusy(false);
    find(this.#bar, 'button').addEventListener('click', () => this.#running?.abort());
  }

  /** Runs one upload at a time and shows how it ends. Returns whether it succeeded. */
  async run(upload: Upload): Promise<boolean> {
    if (this.#running !== undefined) return false;
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.#status.textContent = '';
    this.fail('');
    this.#progress.removeAttribute('value');
    this.#setBusy(true);
    try {
      this.#status.textContent = await upload(signal, (part) => {
        this.#progress.value = part;
      });
      return true;
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (signal.aborted) this.#status.textContent = error.message;
      else this.fail(error.message);
      return false;
    } finally {
      this.#running = undefined;
      this.#setBusy(false);
    }
  }

  fail(sentence: string): void {
    this.#error.textContent = sentence;
  }

  #setBusy(isBusy: boolean): void {
    this.#bar.hidden = !isBusy;
    this.#form.ariaBusy = isBusy ? 'true' : null;
    if (this.#submit !== null) this.#submit.disabled = isBusy;
  }
}
