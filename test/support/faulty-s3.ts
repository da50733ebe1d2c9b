import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What an S3 server does to requests. `cut` and `slow` are for bodies that it sends. */
export type Fault = 'none' | 'hangs' | 'error' | 'cut' | 'slow' | 'stalls' | 'cut once';

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
    if (fault === 'error') {
      incoming
        .resume()
        .on('end', () => answer.writeHead(500).end('<Error><Code>InternalError</Code></Error>'));
      return;
    }
    const { method, url, headers } = incoming;
    const { hostname, port } = this.#target;
    const outgoing = request({ hostname, port, method, path: url, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 500, reply.headers);
      if (fault === 'none' || method !== 'GET' || url?.includes('list-type')) reply.pipe(answer);
      else this.#send(reply, answer, fault);
    });
    outgoing.on('error', () => answer.destroy());
    incoming.pipe(outgoing);
  }

  async #send(reply: IncomingMessage, answer: ServerResponse, fault: Fault): Promise<void> {
    const bytes = Buffer.concat(await reply.toArray());
    if (fault === 'slow') {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
        answer.write(bytes.subarray(at, at + PIECE_BYTES));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      answer.end();
      return;
    }
    answer.write(bytes.subarray(0, bytes.length >> 1), () => {
      if (fault !== 'stalls') answer.destroy();
    });
    if (fault === 'cut once') this.fault = 'none';
  }
}
