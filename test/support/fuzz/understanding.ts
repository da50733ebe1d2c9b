/** How a server understands the bytes of a connection: the service's front end, and Node's own strict parser. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Exchange, Operation } from '../../../src/http/exchange.ts';
import type { Method } from '../../../src/http/router.ts';
import type { Refusal } from '../../../src/refusals.ts';
import { listen, text } from '../http-server.ts';
import { RawConnection } from '../raw-connection.ts';
import type { RawFrames } from './raw-frames.ts';

/** A request that has come to its end, or that was refused by its head. */
export interface UnderstoodRequest {
  readonly method: string;
  /** With its query. */
  readonly target: string;
  /** The lower-case name of each line, in their order. */
  readonly names: readonly string[];
  /** The value of each name that the server gives one for, without bytes that are not UTF-8. */
  readonly values: Readonly<Record<string, string>>;
  /** One byte in each character; undefined if the request was refused. */
  readonly body: string | undefined;
}

export interface Understanding {
  readonly requests: readonly UnderstoodRequest[];
  /** Of all answers, the refusals of the parser included. */
  readonly statuses: readonly number[];
  readonly isClosed: boolean;
  /** Why Node's parser refused what follows. */
  readonly error: string | undefined;
}

/** A server that answers every request, and remembers those of one connection. */
export interface Reader {
  read(frames: RawFrames): Promise<Understanding>;
}

interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
}

interface Scope {
  teardown(fn: () => unknown): void;
}

const MAX_BODY = 1024 * 1024;
/** Of requests that tell when the bytes sent before are read. */
const PROBE = '/has-it-been-read';

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The front end of the service, with an operation for every usual method and path. */
export async function serviceReader(t: Scope): Promise<Reader> {
  const requests: UnderstoodRequest[] = [];
  const understood = (exchange: Exchange, body: Uint8Array) => {
    if (exchange.path !== PROBE) requests.push(requestOf(exchange, body));
    return text(200, 'ok');
  };
  const handle = (exchange: Exchange) =>
    exchange.upload === undefined
      ? understood(exchange, new Uint8Array())
      : exchange.body(MAX_BODY).then((body) => understood(exchange, body));
  const paths = ['/', '/{a}', '/{a}/{b}', '/{a}/{b}/{c}'];
  const operations = METHODS.flatMap((method) =>
    paths.map((path): Operation => ({ id: `${method} ${path}`, method, path, handle })),
  );
  const refuse = (refusal: Refusal, exchange: Exchange) => {
    requests.push(requestOf(exchange, undefined));
    return text(refusal.status, refusal.code);
  };
  const { port } = await listen(t, operations, { maxConnectionsPerClient: 0, refuse });
  return reader(t, port, requests);
}

function requestOf(exchange: Exchange, body: Uint8Array | undefined): UnderstoodRequest {
  const { method, path, queryText, headerNames } = exchange;
  const values: Record<string, string> = {};
  for (const name of headerNames) {
    try {
      values[name] = exchange.header(name, true) ?? '';
    } catch {
      // Two lines of a field that has one value are refused by the handler that asks for it.
    }
  }
  return {
    method,
    target: path + (queryText === '' ? '' : `?${queryText}`),
    names: headerNames,
    values,
    body: body && Buffer.from(body).toString('latin1'),
  };
}

/** `node:http` as it is. */
export async function nodeReader(t: Scope): Promise<Reader> {
  const requests: (UnderstoodRequest | undefined)[] = [];
  const handle = async (message: IncomingMessage, response: ServerResponse) => {
    const isProbe = message.url === PROBE;
    // Requests without a body end before those in front of them that have one.
    const at = isProbe ? -1 : requests.push(undefined) - 1;
    const body: Buffer[] = [];
    try {
      for await (const piece of message) body.push(piece);
    } catch {
      return;
    }
    if (!isProbe) requests[at] = requestOfNode(message, Buffer.concat(body));
    response.end('ok');
  };
  const server = createServer({ keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 }, handle);
  server.on('checkExpectation', handle);
  server.on('connect', (message: IncomingMessage, socket: Socket) => {
    requests.push(requestOfNode(message, Buffer.alloc(0)));
    socket.destroy();
  });
  const errors: string[] = [];
  server.on('clientError', (error: ParserError, socket) => {
    // The end of the connection before may be noticed late.
    if (error.code !== 'HPE_INVALID_EOF_STATE') errors.push([error.code, error.reason].join(' '));
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return reader(t, (server.address() as AddressInfo).port, requests, errors);
}

function requestOfNode(message: IncomingMessage, body: Buffer): UnderstoodRequest {
  const lines = message.rawHeaders.map((one) => Buffer.from(one, 'latin1').toString());
  const names: string[] = [];
  const values: Record<string, string> = {};
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase();
    const value = lines[at + 1]!;
    names.push(name);
    values[name] = name in values ? `${values[name]}${name === 'cookie' ? '; ' : ', '}${value}` : value;
  }
  const { method = '', url = '' } = message;
  return { method, target: url, names, values, body: body.toString('latin1') };
}

/** One connection after another; it is read when requests of another connection, sent later, are answered. */
async function reader(
  t: Scope,
  port: number,
  requests: (UnderstoodRequest | undefined)[],
  errors: string[] = [],
): Promise<Reader> {
  let probe = await RawConnection.open(port);
  t.teardown(() => probe.close());
  const isRead = async () => {
    for (let answers = 0; answers < 2; ) {
      // The server closes it where the machine leaves this test without work for longer than connections may be idle.
      if (probe.isClosed) probe = await RawConnection.open(port);
      probe.send(`GET ${PROBE} HTTP/1.1\r\nHost: a\r\n\r\n`);
      const answer = await probe.response().catch(() => undefined);
      if (answer !== undefined) answers += 1;
      await nextTurn();
    }
  };
  return {
    async read({ bytes, cuts }) {
      requests.length = 0;
      errors.length = 0;
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      await once(socket, 'connect');
      let answers = '';
      let isClosed = false;
      const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => {}));
      socket.on('data', (data) => (answers += data.toString('latin1')));
      socket.on('end', () => (isClosed = true)).on('error', () => (isClosed = true));
      for (const [n, start] of [0, ...cuts].entries()) {
        socket.write(bytes.subarray(start, cuts[n]));
        await isRead();
      }
      const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
      const understood = {
        requests: requests.filter((one) => one !== undefined),
        statuses,
        isClosed,
        error: errors[0],
      };
      socket.destroy();
      await closed;
      return understood;
    },
  };
}
