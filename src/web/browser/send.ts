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
export class RequestFailed extends Error {
  /** The code of the refusal; undefined if the service did not answer. */
  readonly code: string | undefined;

  constructor(sentence: string, code?: string) {
    super(sentence);
    this.code = code;
  }
}

/** Whether a request failed because the service refused it with one of these codes. */
export function isRefused(error: unknown, ...codes: string[]): error is RequestFailed {
  return error instanceof RequestFailed && codes.includes(error.code ?? '');
}

/** `If-Match` or `If-None-Match` of a post, by the identity of the feed that it is for; empty if there is no such feed yet. */
export function forFeed(identity: string): Record<string, string> {
  return identity === '' ? { 'If-None-Match': '*' } : { 'If-Match': `"${identity}"` };
}

/** Sends a request and returns the JSON of the answer, if it has any. Throws RequestFailed. */
export async function send<T>(request: ApiRequest): Promise<T> {
  return (await sendForEtag<T>(request)).json;
}

/**
 * Sends a request and returns the JSON of the answer with its ETag, empty without one. Uses `XMLHttpRequest`, because `fetch` reports no
 * upload progress.
 * @throws RequestFailed
 */
export function sendForEtag<T>(asked: ApiRequest): Promise<{ json: T; etag: string }> {
  const { method, path, headers = {}, signal, onProgress, ...sent } = asked;
  const body = sent.json ? new Blob([JSON.stringify(sent.json)], { type: 'application/json' }) : sent.body;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (sentence: string, code?: string) => reject(new RequestFailed(sentence, code));
    request.open(method, path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, headerBytes(value));
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(loaded / total);
    request.onload = () => {
      const answer = parseJson(request.responseText);
      if (request.status >= 200 && request.status < 300)
        return resolve({ json: answer as T, etag: request.getResponseHeader('ETag') ?? '' });
      const { error = `The service answered with status ${request.status}.`, code } = answer ?? {};
      const seconds = request.getResponseHeader('Retry-After');
      fail(seconds === null ? error : `${error} (In ${seconds} s.)`, code);
    };
    request.onerror = () => fail('The service cannot be reached. Please try again.');
    request.onabort = () => fail('Cancelled.');
    signal?.addEventListener('abort', () => request.abort());
    request.send(body ?? null);
  });
}

function parseJson(text: string): { readonly error?: string; readonly code?: string } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Upload = (signal: AbortSignal, onProgress: ApiRequest['onProgress']) => Promise<string>;

/** Progress, result and cancel button of a form, or of another part of a page, that sends something. */
export function uploadStatus(form: HTMLElement) {
  const sending = find<HTMLElement>(form, '.sending');
  const progress = find<HTMLProgressElement>(sending, 'progress');
  const status = find(form, '.status');
  const submit = form.querySelector<HTMLButtonElement>('button.primary');
  let running: AbortController | undefined;
  find(sending, 'button').addEventListener('click', () => running?.abort());
  show();

  function show(): void {
    const isBusy = running !== undefined;
    sending.hidden = !isBusy;
    form.ariaBusy = isBusy ? 'true' : null;
    if (submit !== null) submit.disabled = isBusy;
  }

  function fail(sentence: string): void {
    find(form, '.error').textContent = sentence;
  }

  /** Runs one upload at a time and shows how it ends: with the sentence that it returns. Returns whether it succeeded. */
  async function run(upload: Upload): Promise<boolean> {
    if (running !== undefined) return false;
    running = new AbortController();
    const { signal } = running;
    status.textContent = '';
    fail('');
    progress.removeAttribute('value');
    show();
    try {
      status.textContent = await upload(signal, (part) => {
        progress.value = part;
      });
      return true;
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (signal.aborted) status.textContent = error.message;
      else fail(error.message);
      return false;
    } finally {
      running = undefined;
      show();
    }
  }

  return { run, fail };
}
