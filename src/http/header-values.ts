import { connect } from 'node:net';
import type { Log } from '../telemetry/log.ts';
import { type ListenSocket, uws } from './uws.ts';

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
export function checkHeaderValues(log: Pick<Log, 'warn' | 'debug'>): void {
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
