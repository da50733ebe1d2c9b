import { Gate } from '../gate.ts';

/** Lets a bounded number of works of each client run at once; its others wait, and nobody else's do. */
export class ClientTurns {
  readonly #limit: number;
  /** Of the clients that have works. */
  readonly #clients = new Map<string, { readonly gate: Gate; works: number }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run<T>(client: string, work: () => Promise<T>): Promise<T> {
    const own = this.#clients.get(client) ?? { gate: new Gate(this.#limit), works: 0 };
    this.#clients.set(client, own);
    own.works += 1;
    try {
      return await own.gate.run(work);
    } finally {
      own.works -= 1;
      if (own.works === 0) this.#clients.delete(client);
    }
  }
}
