import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Passes connections on to a port of this machine, and counts what the server sends. */
export class CountingProxy {
  /** Bytes from the server. */
  bytes = 0;
  readonly port: number;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(t: { teardown(fn: () => unknown): void }, to: number): Promise<CountingProxy> {
    const sockets = new Set<Socket>();
    const server = createServer((client) => {
      const upstream = connect(to, '127.0.0.1');
      upstream.on('data', ({ length }) => {
        proxy.bytes += length;
      });
      for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}).setNoDelay());
      client.pipe(upstream).pipe(client);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const proxy = new CountingProxy((server.address() as AddressInfo).port);
    return proxy;
  }

  /** Bytes from the server while it works. */
  async during(work: () => Promise<unknown>): Promise<number> {
    const before = this.bytes;
    await work();
    return this.bytes - before;
  }
}
