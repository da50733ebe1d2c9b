import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * How the connection is cut when the client sends a piece. `lost`: the server receives nothing of the piece; `all lost`: the same, and
 * all other connections are cut, too; `half`: the server receives the first half; `unanswered`: the server receives all of it, and the
 * client nothing of the answer; `half answered`: the client receives the first half of the answer's first piece.
 */
export type Ending = 'lost' | 'all lost' | 'half' | 'unanswered' | 'half answered';

/** Passes connections on to a port of this machine, and ends the one whose client sends a certain piece. */
export class PieceProxy {
  readonly port: number;
  readonly #sockets = new Set<Socket>();
  #armed: { readonly ending: Ending; left: number } | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(t: { teardown(fn: () => unknown): void }, to: number): Promise<PieceProxy> {
    const server = createServer((client) => {
      const upstream = connect(to, '127.0.0.1');
      for (const socket of [client, upstream]) {
        proxy.#sockets.add(socket.on('error', () => {}).setNoDelay());
        socket.on('close', () => {
          proxy.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      proxy.#pass(client, upstream);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      proxy.#endAll();
      server.close();
    });
    const proxy = new PieceProxy((server.address() as AddressInfo).port);
    return proxy;
  }

  /** The nth piece from now on, whatever the connection, is the last of its connection. */
  endAt(nth: number, ending: Ending): void {
    this.#armed = { ending, left: nth };
  }

  /** No connection ends any more. Whether one has. */
  disarm(): boolean {
    const hasEnded = this.#armed === undefined;
    this.#armed = undefined;
    return hasEnded;
  }

  #endAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #pass(client: Socket, upstream: Socket): void {
    let ending: Ending | undefined;
    client.on('data', (data) => {
      if (ending) return;
      if (this.#armed) {
        this.#armed.left -= 1;
        if (this.#armed.left === 0) {
          ({ ending } = this.#armed);
          this.#armed = undefined;
        }
      }
      if (ending === 'all lost') this.#endAll();
      else if (ending === 'lost') client.resetAndDestroy();
      else if (ending === 'half')
        upstream.write(data.subarray(0, data.length >> 1), () => client.resetAndDestroy());
      else upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!ending) client.write(data);
      else if (ending === 'unanswered') client.resetAndDestroy();
      else client.end(data.subarray(0, data.length >> 1));
    });
  }
}
