import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * What an S3 server does to requests: `hangs` and those before it to all, the others to those with the body of an object.
 * A body that is sent or taken is cut or stalls in its middle.
 */
export type Fault = 'none' | 'error' | 'full' | 'hangs' | 'cut' | 'cut once' | 'slow' | 'stalls';

interface Scope {
  teardown(fn: () => unknown): void;
}

const PIECE_BYTES = 10_000;
const PAUSE_MS = 20;

/** An S3 server with faults: hands requests on to a real one, as they are signed for this one. */
export class FaultyS3 {
  fault: Fault = 'none';
  /** Requests that came here. */
  asked = 0;
  readonly #server: Server;
  readonly #target: URL;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, answer) => this.#handle(incoming, answer));
  }

  static async start(t: Scope, target: string): Promise<FaultyS3> {
    const faulty = new FaultyS3(target);
    await faulty.listen();
    t.teardown(() => faulty.refuse());
    return faulty;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  #port = 0;

  /** Takes connections again, on the same port. */
  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** From now on connections are refused, and those that are open are cut. */
  async refuse(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #handle(incoming: IncomingMessage, answer: ServerResponse): void {
    this.asked += 1;
    const { fault } = this;
    if (fault === 'hangs') return;
    if (fault === 'error' || fault === 'full') {
      const status = fault === 'full' ? 507 : 500;
      incoming.resume().on('end', () => answer.writeHead(status).end('<Error><Code>Fault</Code></Error>'));
      return;
    }
    const { method, url, headers } = incoming;
    if (method === 'PUT' && (fault === 'stalls' || fault.startsWith('cut'))) {
      this.#takeHalf(incoming, fault);
      return;
    }
    const { hostname, port } = this.#target;
    const outgoing = request({ hostname, port, method, path: url, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 500, reply.headers);
      // Swift sends a body after some answers to HEAD, which is an error of the connection, not of the answer.
      if (method === 'HEAD') answer.end();
      else if (fault === 'none' || method !== 'GET' || url?.includes('list-type')) reply.pipe(answer);
      else this.#send(reply, answer, fault);
    });
    outgoing.on('error', () => {
      if (!answer.writableEnded) answer.destroy();
    });
    (fault === 'slow' ? Readable.from(slowed(incoming)) : incoming).pipe(outgoing);
  }

  async #takeHalf(incoming: IncomingMessage, fault: Fault): Promise<void> {
    if (fault === 'cut once') this.fault = 'none';
    let missing = Number(incoming.headers['content-length']) >> 1;
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) {
      missing -= piece.length;
      if (missing <= 0) break;
    }
    if (fault !== 'stalls') incoming.destroy();
  }

  async #send(reply: IncomingMessage, answer: ServerResponse, fault: Fault): Promise<void> {
    const bytes = Buffer.concat(await reply.toArray());
    if (fault === 'slow') {
      Readable.from(slowed([bytes])).pipe(answer);
      return;
    }
    answer.write(bytes.subarray(0, bytes.length >> 1), () => {
      if (fault !== 'stalls') answer.destroy();
    });
    if (fault === 'cut once') this.fault = 'none';
  }
}

/** The same bytes, a little at a time. */
async function* slowed(pieces: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncIterable<Buffer> {
  for await (const piece of pieces)
    for (let at = 0; at < piece.length; at += PIECE_BYTES) {
      yield piece.subarray(at, at + PIECE_BYTES);
      await delay(PAUSE_MS);
    }
}
