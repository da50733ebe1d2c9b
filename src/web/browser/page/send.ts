import type { explain } from '../../words.ts';
import { find, sendOnce } from './elements.ts';
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

export const UNREACHED = 'The service cannot be reached. Please try again.';
/** The status of an answer that has no JSON. */
const NO_CONTENT = 204;

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

/** Whether a request failed although the service may have carried it out, because there was no answer of the service. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof RequestFailed && error.code === undefined;
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
    const fail = (sentence: string) => reject(new RequestFailed(sentence));
    request.open(method, path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, headerBytes(value));
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(loaded / total);
    const failUnreached = () => fail(UNREACHED);
    request.onload = () => {
      const { status } = request;
      const answer = parseJson(request.responseText);
      if (status < 200 || status >= 300) return void refusalOf(request, answer).then(reject);
      // A network or a proxy that asks for a login answers with pages of its own.
      if (answer === undefined && status !== NO_CONTENT) return failUnreached();
      // A proxy that compresses an answer makes its ETag weak, and a weak one matches no `If-Match`.
      const etag = (request.getResponseHeader('ETag') ?? '').replace(/^W\//, '');
      resolve({ json: answer as T, etag });
    };
    request.onerror = failUnreached;
    request.onabort = () => fail('Cancelled.');
    // It may have been cancelled while the body was prepared.
    if (signal?.aborted) return fail('Cancelled.');
    signal?.addEventListener('abort', () => request.abort());
    request.send(body ?? null);
  });
}

/** The failure that an answer means. */
async function refusalOf(
  request: XMLHttpRequest,
  { error = '', code }: { readonly error?: string; readonly code?: string } = {},
): Promise<RequestFailed> {
  const seconds = request.getResponseHeader('Retry-After');
  const retryAfter = seconds === null ? undefined : Number(seconds);
  return new RequestFailed(await sentenceOf({ code, message: error, retryAfter }), code);
}

/** What to tell people of a refusal. Its words are loaded now, because few pages need them. */
export async function sentenceOf(refusal: Parameters<typeof explain>[0]): Promise<string> {
  const words = await import('../../words.ts').catch(() => undefined);
  return words?.explain(refusal) ?? 'That did not work. Please try again.';
}

function parseJson(text: string): { readonly error?: string; readonly code?: string } | undefined {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

type Upload = (signal: AbortSignal, onProgress: ApiRequest['onProgress']) => Promise<string>;

/** A link to this page itself, which leads to the form for logging in, or for unlocking the feed. */
function logInLink(): HTMLAnchorElement {
  const link = document.createElement('a');
  link.href = location.pathname;
  link.target = '_blank';
  link.textContent = 'Log in or unlock the feed (new tab)';
  return link;
}

/**
 * Progress, result and cancel button of a form, or of another part of a page, that sends something.
 * @param hold called when it begins and when it has ended
 */
export function uploadStatus(form: HTMLElement, hold: (isBusy: boolean) => void = () => {}) {
  const sending = find<HTMLElement>(form, '.sending');
  const progress = find<HTMLProgressElement>(sending, 'progress');
  const status = find(form, '.status');
  const submit = form.querySelector<HTMLButtonElement>('button.primary');
  let running: AbortController | undefined;
  find(sending, 'button').addEventListener('click', cancel);
  sendOnce(form);
  show();

  function cancel(): void {
    running?.abort();
  }

  function show(): void {
    const isBusy = running !== undefined;
    sending.hidden = !isBusy;
    form.ariaBusy = isBusy ? 'true' : null;
    if (submit !== null) submit.disabled = isBusy;
    hold(isBusy);
  }

  /** Says why a request failed. The link that helps opens a new tab, because this page holds text that was not sent yet. */
  function fail(failure: string | RequestFailed): void {
    const error = find(form, '.error');
    if (typeof failure === 'string') error.textContent = failure;
    else error.replaceChildren(failure.message, ...(failure.code === 'auth' ? [' ', logInLink()] : []));
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
      else fail(error);
      return false;
    } finally {
      running = undefined;
      show();
    }
  }

  return { run, fail, cancel };
}
