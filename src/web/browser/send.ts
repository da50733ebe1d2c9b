import { headerBytes } from './header-bytes.ts';

/** A request of the public API that a page makes. */
export interface Sent {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Values may hold any letters. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: FormData | Blob | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told how much of the body has left, from 0 to 1. */
  onProgress?(part: number): void;
}

/** The service, or the network, did not do what was asked; the message is for people. */
export class NotDone extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/**
 * Sends a request; settles with the JSON of the answer, if it has any. It is an `XMLHttpRequest`, because nothing else
 * tells how much of an upload has left.
 * @throws NotDone
 */
export function send<T>({ method, path, headers = {}, body, signal, onProgress }: Sent): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, headerBytes(value));
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(loaded / total);
    request.onload = () => {
      const { status } = request;
      if (status >= 200 && status < 300) return resolve(parsed(request.responseText) as T);
      reject(new NotDone(sentenceOf(request), status));
    };
    request.onerror = () => reject(new NotDone('The service cannot be reached. Please try again.', 0));
    request.onabort = () => reject(new NotDone('Cancelled.', 0));
    signal?.addEventListener('abort', () => request.abort());
    request.send(body ?? null);
  });
}

/** As `send`, with a value as the body. */
export function sendJson<T>(
  method: Sent['method'],
  path: string,
  value: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const body = new Blob([JSON.stringify(value)], { type: 'application/json' });
  return send<T>({ method, path, body, signal });
}

function sentenceOf(request: XMLHttpRequest): string {
  const answer = parsed(request.responseText) as { error?: string } | undefined;
  const sentence = answer?.error ?? `The service answered with status ${request.status}.`;
  const seconds = request.getResponseHeader('Retry-After');
  return seconds === null ? sentence : `${sentence} (In ${seconds} s.)`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
