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
