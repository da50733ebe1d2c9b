import { connect, type Socket } from 'node:net';

export interface RawResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: Buffer;
}

/** A TCP connection on which a test writes the very bytes of requests and reads responses one by one. */
export class RawConnection {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  /** What was received, from `#start` to `#end`; twice as large whenever it is full, for answers of many megabytes. */
  #bytes = Buffer.alloc(4_096);
  #start = 0;
  #end = 0;
  #isClosed = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (data) => {
      this.#append(data);
      this.#wake();
    });
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#isClosed = true;
        this.#wake();
        resolve();
      });
    });
  }

  /** Connects to a port of this machine, as another client where one of its addresses (127.0.0.0/8) is given. */
  static async open(port: number, localAddress = '127.0.0.1'): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Text is written as UTF-8. */
  send(data: string | Uint8Array): void {
    this.socket.write(data);
  }

  /** The next response; `withoutBody` for the answer to a HEAD request. 1xx responses are returned too. */
  async response(withoutBody = false): Promise<RawResponse> {
    const head = (await this.#until((data) => indexAfter(data, '\r\n\r\n'))).toString('latin1');
    const [statusLine = '', ...lines] = head.trimEnd().split('\r\n');
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const status = Number(statusLine.split(' ')[1]);
    const hasBody = !withoutBody && status >= 200 && status !== 204 && status !== 304;
    return { status, headers, body: hasBody ? await this.#body(headers) : Buffer.alloc(0) };
  }

  close(): void {
    this.socket.destroy();
  }

  async #body(headers: Record<string, string>): Promise<Buffer> {
    if (headers['transfer-encoding'] !== 'chunked') {
      const length = Number(headers['content-length'] ?? 0);
      return this.#until((data) => (data.length >= length ? length : -1));
    }
    const chunks: Buffer[] = [];
    for (;;) {
      const line = (await this.#until((data) => indexAfter(data, '\r\n'))).toString('latin1');
      const size = Number.parseInt(line, 16);
      const chunk = await this.#until((data) => (data.length >= size + 2 ? size + 2 : -1));
      if (size === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, size));
    }
  }

  #append(data: Buffer): void {
    const size = this.#end - this.#start;
    if (this.#end + data.length > this.#bytes.length) {
      const larger = Buffer.alloc(2 * (size + data.length));
      this.#bytes.copy(larger, 0, this.#start, this.#end);
      this.#bytes = larger;
      this.#start = 0;
      this.#end = size;
    }
    data.copy(this.#bytes, this.#end);
    this.#end += data.length;
  }

  /** Takes bytes off the front once `find` says how many. */
  async #until(find: (data: Buffer) => number): Promise<Buffer> {
    for (;;) {
      const received = this.#bytes.subarray(this.#start, this.#end);
      const length = find(received);
      if (length !== -1) {
        this.#start += length;
        return received.subarray(0, length);
      }
      if (this.#isClosed)
        throw new Error(`closed after ${JSON.stringify(received.toString('latin1', 0, 500))}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

function indexAfter(data: Buffer, text: string): number {
  const at = data.indexOf(text);
  return at === -1 ? -1 : at + text.length;
}
