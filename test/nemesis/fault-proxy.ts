import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** `up` is from the service to what it is connected to. */
export type Direction = 'up' | 'down';

/**
 * What happens to the bytes of a direction. `freeze`: they wait, as does the end of a connection. `drop`: they vanish, and
 * because TCP has no streams with gaps, their connection is silent from then on. `delay`: each piece comes `ms` later. `cut`:
 * the connection ends after so many more bytes, inside a message.
 */
export type Passing =
  | { readonly kind: 'pass' | 'freeze' | 'drop' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'cut'; readonly bytes: number };

/** What happens to new connections: `silence` takes them and says nothing, not even after the fault. */
export type Admission = 'pass' | 'refuse' | 'silence';

const PASS: Passing = { kind: 'pass' };

/** A proxy to a port of this machine with the faults of a network. */
export class FaultProxy {
  readonly port: number;
  readonly #to: number;
  readonly #links = new Set<Link>();
  readonly #silent = new Set<Socket>();
  #server: Server | undefined;
  #admission: Admission = 'pass';
  #passing: Record<Direction, Passing> = { up: PASS, down: PASS };

  private constructor(port: number, to: number) {
    this.port = port;
    this.#to = to;
  }

  static async start(t: { teardown(fn: () => unknown): void }, to: number): Promise<FaultProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new FaultProxy((server.address() as AddressInfo).port, to);
    proxy.#serve(server);
    t.teardown(() => proxy.#close());
    return proxy;
  }

  /** Ports from which it is connected to the server. */
  get ports(): Set<number> {
    return new Set([...this.#links].map(({ server }) => server.localPort!));
  }

  /** Changes what happens to bytes, of connections that are open too. */
  pass(directions: readonly Direction[], passing: Passing): void {
    for (const direction of directions) this.#passing[direction] = passing;
    for (const link of this.#links) for (const direction of directions) link.lanes[direction].change(passing);
  }

  admit(admission: Admission): void {
    this.#admission = admission;
    if (admission !== 'refuse') return;
    this.#server?.close();
    this.#server = undefined;
  }

  /** Ends all connections with RST. */
  reset(): void {
    for (const link of this.#links) link.reset();
  }

  /** Ends the fault. Where bytes have vanished, the server hears RST, as from a network that knows nothing of the connection. */
  async heal(): Promise<void> {
    this.pass(['up', 'down'], PASS);
    for (const link of this.#links) if (link.isSilent) link.server.resetAndDestroy();
    this.#admission = 'pass';
    if (this.#server) return;
    const server = createServer().listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.#serve(server);
  }

  #serve(server: Server): void {
    this.#server = server.on('connection', (client: Socket) => {
      if (this.#admission === 'silence') {
        this.#silent.add(client.on('error', () => {}).on('close', () => this.#silent.delete(client)));
        client.resume();
        return;
      }
      const link = new Link(client, connect(this.#to, '127.0.0.1'), this.#passing);
      this.#links.add(link);
      link.closed.then(() => this.#links.delete(link));
    });
  }

  #close(): void {
    this.#server?.close();
    this.reset();
    for (const client of this.#silent) client.destroy();
  }
}

/** A connection on both sides of the proxy. */
class Link {
  readonly server: Socket;
  readonly lanes: Record<Direction, Lane>;
  readonly closed: Promise<unknown>;
  readonly #client: Socket;

  constructor(client: Socket, server: Socket, passing: Record<Direction, Passing>) {
    this.#client = client;
    this.server = server;
    const sockets = [client, server];
    for (const socket of sockets) socket.on('error', () => {}).setNoDelay();
    this.closed = Promise.all(sockets.map((socket) => once(socket, 'close').catch(() => {})));
    this.lanes = {
      up: new Lane(client, server, passing.up),
      down: new Lane(server, client, passing.down),
    };
  }

  /** Whether bytes of it have vanished. */
  get isSilent(): boolean {
    return this.lanes.up.isSilent || this.lanes.down.isSilent;
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.server.resetAndDestroy();
  }
}

/** One direction of a connection. What comes waits for what came before it. */
class Lane {
  isSilent = false;
  #isCut = false;
  readonly #from: Socket;
  readonly #to: Socket;
  #passing: Passing;
  #thawed: PromiseWithResolvers<void> | undefined;
  /** Bytes until the cut. */
  #left = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(from: Socket, to: Socket, passing: Passing) {
    this.#from = from;
    this.#to = to;
    this.#passing = PASS;
    this.change(passing);
    from.on('data', (data: Buffer) => {
      const at = performance.now() + (this.#passing.kind === 'delay' ? this.#passing.ms : 0);
      this.#then(async () => {
        const early = at - performance.now();
        if (early > 0) await wait(early);
        this.#write(data);
      });
    });
    from.on('end', () => this.#then(() => to.end()));
    from.on('close', () => this.#then(() => to.destroy()));
  }

  change(passing: Passing): void {
    this.#passing = passing;
    if (passing.kind === 'freeze') this.#thawed ??= Promise.withResolvers();
    else {
      this.#thawed?.resolve();
      this.#thawed = undefined;
    }
    if (passing.kind === 'cut') this.#left = passing.bytes;
  }

  #then(act: () => unknown): void {
    this.#last = this.#last.then(async () => {
      while (this.#thawed) await this.#thawed.promise;
      if (this.#passing.kind === 'drop') this.isSilent = true;
      if (!this.isSilent && !this.#isCut) await act();
    });
  }

  #write(data: Buffer): void {
    if (this.#passing.kind !== 'cut' || data.length < this.#left) {
      this.#left -= data.length;
      this.#to.write(data);
      return;
    }
    this.#isCut = true;
    this.#to.end(data.subarray(0, this.#left));
    this.#from.end();
  }
}
