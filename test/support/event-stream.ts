import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { eventually } from './eventually.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

let clients = 0;

/** An open event stream and what came of it. Each is a client of its own where the service trusts its proxy. */
export class EventStream {
  readonly response: IncomingMessage;
  text = '';
  isEnded = false;
  readonly #request: ClientRequest;

  private constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#request = sent;
    this.response = response;
    response.setEncoding('utf8').on('data', (piece: string) => {
      this.text += piece;
    });
    response.on('end', () => {
      this.isEnded = true;
    });
    response.on('error', () => {});
  }

  /** Settles when the headers are there; closed when the test ends. */
  static async open(t: Scope, url: string, headers: Record<string, string> = {}): Promise<EventStream> {
    clients += 1;
    const client = `10.${clients >> 16}.${(clients >> 8) & 255}.${clients & 255}`;
    const sent = request(url, { agent: false, headers: { 'x-forwarded-for': client, ...headers } });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject).end();
    });
    const stream = new EventStream(sent, response);
    t.teardown(() => stream.close());
    return stream;
  }

  /** The versions that the events tell, in their order. */
  get versions(): string[] {
    return [...this.text.matchAll(/^event: changed\nid: (\S+)\ndata: \1\n\n/gm)].map(([, id]) => id!);
  }

  /** Waits until so many events are there. */
  async hears(count: number): Promise<boolean> {
    return eventually(() => this.versions.length >= count);
  }

  async ends(): Promise<boolean> {
    return eventually(() => this.isEnded);
  }

  close(): void {
    this.#request.destroy();
  }
}
