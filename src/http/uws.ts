/**
 * The uWebSockets binding, and a check of its build. It reads its header limit from the environment when it is first
 * loaded, so everything of ours takes it from here.
 */
import type { HttpResponse, us_listen_socket } from 'uWebSockets.js';
import { connect } from 'node:net';

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

/**
 * Writes the last fields and the content of an answer after which the connection ends. For the binding the response stays
 * open until `res.close()`, so it goes on reading the body, and does not take bytes behind it for a request. The binding has no
 * call for this, so the content is written as a part of the value of `Content-Length`: the binding writes values unchanged. The
 * line break that it writes behind them is beyond the announced length.
 * @param length undefined for a status that has no content
 */
export function writeLast(res: HttpResponse, length: number | undefined, content?: Uint8Array): void {
  if (length === undefined) {
    res.writeHeader('Connection', 'close\r\n');
    return;
  }
  res.writeHeader('Connection', 'close');
  res.writeHeader(
    'Content-Length',
    Buffer.concat([Buffer.from(`${length}\r\n\r\n`), content ?? new Uint8Array()]),
  );
}

const SENT = 'éaé';

/**
 * Whether header values arrive whole. Some builds of the binding drop bytes of 0x80 and above from both ends;
 * install/mend-binding.cjs mends one of them. Sends a request to itself on a free port (3 ms); throws if it cannot.
 */
export async function keepsHeaderValues(): Promise<boolean> {
  let received: string | undefined;
  const app = uws.App().get('/', (res, req) => {
    received = Buffer.from(req.getHeader('x'), 'latin1').toString();
    res.end('', true);
  });
  try {
    await new Promise<void>((resolve, reject) => {
      app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket: ListenSocket | false) => {
        if (!socket) return reject(new Error('no port is free'));
        connect(uws.us_socket_local_port(socket), '127.0.0.1')
          .on('error', reject)
          .on('close', () => resolve())
          .resume()
          .write(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${SENT}\r\n\r\n`);
      });
    });
  } finally {
    app.close();
  }
  return received === SENT;
}

/** Warns of a binding that cuts header values. Runs in the background; a failure is only logged. */
export function checkHeaderValues(
  log: Readonly<Record<'warn' | 'debug', (message: string, fields?: { err: unknown }) => void>>,
): void {
  keepsHeaderValues().then(
    (areWhole) => {
      if (!areWhole)
        log.warn(
          'this build of uWebSockets.js drops letters beyond ASCII from both ends of header values; ' +
            'install/mend-binding.cjs mends the one for Linux on x86-64',
        );
    },
    (err) => log.debug('cannot tell whether header values arrive whole', { err }),
  );
}
