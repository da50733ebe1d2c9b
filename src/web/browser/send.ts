import { find } from './elements.ts';
import { headerBytes } from './text.ts';

/** A request to the public API. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Values may be any text; they are sent as UTF-8. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: FormData | Blob | undefined;
  /** Sent as JSON, in place of a body. */
  readonly json?: object;
  readonly signal?: AbortSignal | undefined;
  /** Called with the part of the body that was sent, from 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined;
}

/** The service refused, or cannot be reached; the message is for people. */
export class RequestFailed extends Error {}

/**
 * Sends a request and returns the JSON of the answer, if it has any. Uses `XMLHttpRequest`, because `fetch` reports no
 * upload progress.
 * @throws RequestFailed
 */
export function send<T>({ method, path, headers = {}, signal, onProgress, ...sent }: ApiRequest): Promise<T> {
  const body = sent.json ? new Blob([JSON.stringify(sent.json)], { type: 'application/json' }) : sent.body;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, headerBytes(value));
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(loaded / total);
    request.onload = () => {
      const isOk = request.status >= 200 && request.status < 300;
      if (isOk) resolve(parseJson(request.responseText) as T);
      else reject(new RequestFailed(sentenceOf(request)));
    };
    request.onerror = () => reject(new RequestFailed('The service cannot be reached. Please try again.'));
    request.onabort = () => reject(new RequestFailed('Cancelled.'));
    signal?.addEventListener('abort', () => request.abort());
    request.send(body ?? null);
  });
}

function sentenceOf(request: XMLHttpRequest): string {
  const answer = parseJson(request.responseText) as { error?: string } | undefined;
  const sentence = answer?.error ?? `The service answered with status ${request.status}.`;
  const seconds = request.getResponseHeader('Retry-After');
  return seconds === null ? sentence : `${sentence} (In ${seconds} s.)`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
