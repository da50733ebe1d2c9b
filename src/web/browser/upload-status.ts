import { find } from './elements.ts';
import { type ApiRequest, RequestFailed } from './send.ts';

/** Sends something; returns the sentence to show at the end. */
export type Upload = (signal: AbortSignal, onProgress: ApiRequest['onProgress']) => Promise<string>;

/** Progress, result and cancel button of a form, or of another part of a page, that sends something. */
export class UploadStatus {
  readonly #form: HTMLElement;
  #running: AbortController | undefined;

  constructor(form: HTMLElement) {
    this.#form = form;
    this.#setBusy(false);
    find(form, '.sending button').addEventListener('click', () => this.#running?.abort());
  }

  /** Runs one upload at a time and shows how it ends. Returns whether it succeeded. */
  async run(upload: Upload): Promise<boolean> {
    if (this.#running !== undefined) return false;
    this.#running = new AbortController();
    const { signal } = this.#running;
    const progress = find<HTMLProgressElement>(this.#form, 'progress');
    const status = find(this.#form, '.status');
    status.textContent = '';
    this.fail('');
    progress.removeAttribute('value');
    this.#setBusy(true);
    try {
      status.textContent = await upload(signal, (part) => {
        progress.value = part;
      });
      return true;
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (signal.aborted) status.textContent = error.message;
      else this.fail(error.message);
      return false;
    } finally {
      this.#running = undefined;
      this.#setBusy(false);
    }
  }

  fail(sentence: string): void {
    find(this.#form, '.error').textContent = sentence;
  }

  #setBusy(isBusy: boolean): void {
    find<HTMLElement>(this.#form, '.sending').hidden = !isBusy;
    this.#form.ariaBusy = isBusy ? 'true' : null;
    const submit = this.#form.querySelector<HTMLButtonElement>('button.primary');
    if (submit !== null) submit.disabled = isBusy;
  }
}
