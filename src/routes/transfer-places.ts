import { LRUCache } from 'lru-cache';
import { Refusal } from '../refusals.ts';

/** The slowest average pace of a transfer whose place somebody else needs, bytes per second: half of what a line of 1 Mbit/s has. */
const LEAST_PACE = 64 * 1024;
/** The pace of a transfer is judged once the service has waited so long for its client, ms. */
const GRACE_MS = 20_000;
const GAVE_WAY_MS = 3_600_000;

/** Places for transfers, which take long and much room: a number of them at once, half of them for one client. */
export class TransferPlaces {
  readonly #most: number;
  readonly #taken = new Set<Transfer>();
  /** Clients whose transfers gave way lately. They take no place of others, because slow clients would end each other's transfers for ever. */
  readonly #gaveWay = new LRUCache<string, true>({ max: 10_000, ttl: GAVE_WAY_MS });

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Takes a place for a client. If all places are taken, the slowest transfer loses its place, but only if its average is below
   * 64 KiB/s. So slow transfers are kept as long as nobody else needs a place.
   * @param giveUp ends the transfer while it waits for its client
   * @throws Refusal `busy`
   */
  take(client: string, giveUp: () => void): Transfer {
    const own = [...this.#taken].filter((transfer) => transfer.client === client);
    if (own.length >= this.#most / 2) throw busy();
    if (this.#taken.size >= this.#most) this.#giveUpSlowest(client);
    const transfer = new Transfer(client, giveUp);
    this.#taken.add(transfer);
    return transfer;
  }

  /** Frees the place of a transfer, if it still has it. */
  free(transfer: Transfer): void {
    this.#taken.delete(transfer);
  }

  #giveUpSlowest(client: string): void {
    const slowest = [...this.#taken].reduce((slower, one) => (one.pace < slower.pace ? one : slower));
    if (slowest.pace >= LEAST_PACE || this.#gaveWay.has(client)) throw busy();
    this.#gaveWay.set(slowest.client, true);
    this.#taken.delete(slowest);
    slowest.giveUp();
  }
}

function busy(): Refusal {
  return new Refusal('busy', 'Too many feeds come or go at once. Try again when one is done.', {
    retryAfter: 30,
  });
}

/** A zip on its way from or to a client. */
class Transfer {
  readonly client: string;
  readonly giveUp: () => void;
  #bytes = 0;
  /** How long the service has waited for the client before, and since when it does, in ms; undefined while the client waits. */
  #waitedMs = 0;
  #waitsSince: number | undefined;

  constructor(client: string, giveUp: () => void) {
    this.client = client;
    this.giveUp = giveUp;
  }

  /** The average, in bytes per second, of the time that the client took; infinite at the beginning and while the client waits. */
  get pace(): number {
    if (this.#waitsSince === undefined) return Number.POSITIVE_INFINITY;
    const ms = this.#waitedMs + performance.now() - this.#waitsSince;
    return ms < GRACE_MS ? Number.POSITIVE_INFINITY : (this.#bytes / ms) * 1000;
  }

  /** Passes the pieces on, and measures how long the client takes for each but the first, which may have waited for memory. */
  async *receive(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      this.#goOn();
      this.#bytes += piece.length;
      yield piece;
      this.#wait();
    }
    this.#goOn();
  }

  /** Passes the pieces on, and measures how long the client takes for each. */
  async *send(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      this.#bytes += piece.length;
      this.#wait();
      yield piece;
      this.#goOn();
    }
  }

  #wait(): void {
    this.#waitsSince = performance.now();
  }

  #goOn(): void {
    if (this.#waitsSince === undefined) return;
    this.#waitedMs += performance.now() - this.#waitsSince;
    this.#waitsSince = undefined;
  }
}
