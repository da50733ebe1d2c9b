import { find } from './elements.ts';
import { NotDone } from './send.ts';

/** What a form, or a part of a page, shows while it sends something: how far it is, how it ended, and a button that stops it. */
export class Sending {
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
    this.#disable(false);
    find(this.#bar, 'button').addEventListener('click', () => this.#running?.abort());
  }

  /**
   * Runs one thing at a time. What it says at its end is announced; a refusal is shown, and everything stays as it was.
   * @returns whether it was done
   */
  async run(
    what: (signal: AbortSignal, onProgress: (part: number) => void) => Promise<string>,
  ): Promise<boolean> {
    if (this.#running !== undefined) return false;
    this.#running = new AbortController();
    this.say('');
    this.fail('');
    this.#progress.removeAttribute('value');
    this.#bar.hidden = false;
    this.#form.setAttribute('aria-busy', 'true');
    this.#disable(true);
    try {
      const onProgress = (part: number) => {
        this.#progress.value = part;
      };
      this.say(await what(this.#running.signal, onProgress));
      return true;
    } catch (error) {
      if (!(error instanceof NotDone)) throw error;
      if (this.#running.signal.aborted) this.say(error.message);
      else this.fail(error.message);
      return false;
    } finally {
      this.#running = undefined;
      this.#bar.hidden = true;
      this.#form.removeAttribute('aria-busy');
      this.#disable(false);
    }
  }

  #disable(isDisabled: boolean): void {
    if (this.#submit !== null) this.#submit.disabled = isDisabled;
  }

  say(sentence: string): void {
    this.#status.textContent = sentence;
  }

  fail(sentence: string): void {
    this.#error.textContent = sentence;
  }
}
