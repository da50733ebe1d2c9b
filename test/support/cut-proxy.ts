import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * How a connection ends: `upload` once some of a request's body was passed on, `answer` when the service begins to answer, `page` in
 * the middle of what it answers.
 */
export type CutIn = 'upload' | 'answer' | 'page';

/** How many bytes at the end of an answer are not passed on if it is cut in its middle. */
const MISSING_BYTES = 200;
/** Bytes of a long request that reach the service before it is cut: its head, and some of its body. */
const UPLOADED_BYTES = 20_000;

/** Passes connections on to a port of this machine until it is cut. The network of a browser that cannot reach the service. */
export class CutProxy {
  readonly port: number;
  /** Requests that begin so are lost: their connection ends before the service has any of them. For example `POST /name `. */
  loses: string | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** What ends the network, and the beginning of the request that it does. */
  #armed: { readonly where: CutIn; readonly request: string; readonly cut: () => void } | undefined;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async start(t: { teardown(fn: () => unknown): void }, to: number): Promise<CutProxy> {
    const server = createServer((client) => proxy.#pass(client, to));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new CutProxy(server, (server.address() as AddressInfo).port);
    t.teardown(() => proxy.cut());
    return proxy;
  }

  /** Its address, without a slash at the end. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Ends all connections and refuses new ones. */
  async cut(): Promise<void> {
    this.#armed = undefined;
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  /**
   * Cuts in the middle of the next request that begins so. Call the result to wait for that.
   * @param request method and path, for example `POST /name `
   */
  cutIn(where: CutIn, request: string): () => Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#armed = { where, request, cut: () => void this.cut().then(resolve) };
    return () => promise;
  }

  /** Connects again. */
  async mend(): Promise<void> {
    this.#armed = undefined;
    if (this.#server.listening) return;
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  #pass(client: Socket, to: number): void {
    const upstream = connect(to, '127.0.0.1');
    /** Of the request that is to be cut. */
    let sent = 0;
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket.on('error', () => {}).setNoDelay());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (data) => {
      const armed = this.#armed;
      // A browser begins a request with a packet of its own.
      const begins = (request: string) => data.toString('latin1', 0, request.length) === request;
      if (this.loses !== undefined && begins(this.loses)) {
        client.destroy();
        return;
      }
      if (sent > 0 || (armed && begins(armed.request))) sent += data.length;
      upstream.write(data);
      if (armed?.where === 'upload' && sent > UPLOADED_BYTES) armed.cut();
    });
    upstream.on('data', (data) => {
      const armed = sent > 0 ? this.#armed : undefined;
      if (armed?.where === 'answer') armed.cut();
      else if (armed?.where === 'page') client.write(data.subarray(0, -MISSING_BYTES), armed.cut);
      else client.write(data);
    });
  }
}
