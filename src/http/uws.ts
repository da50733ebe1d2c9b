/**
 * The uWebSockets binding. It reads its header limit from the environment when it is first loaded,
 * so everything of ours takes it from here.
 */
import type { us_listen_socket } from 'uWebSockets.js';

declare module 'uWebSockets.js' {
  const LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  interface TemplatedApp {
    listen(
      host: string,
      port: number,
      options: number,
      cb: (listenSocket: us_listen_socket | false) => void,
    ): TemplatedApp;
  }
}

/** All header fields of one request together, in bytes; beyond it the binding answers 431. */
const MAX_HEADER_BYTES = 16_384;

process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(MAX_HEADER_BYTES);
export const uws = await import('uWebSockets.js');

export type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
export type ListenSocket = us_listen_socket;
