import { Refusal } from '../refusals.ts';

interface Waiting {
  readonly client: string;
  readonly size: number;
  readonly admit: () => void;
}

/** A part of the body memory that is held for one request. */
export interface Reservation {
  /** Gives the memory back. May be called more than once. */
  release(): void;
}

export interface BodyMemoryOptions {
  /** All bodies together, in bytes. */
  readonly total: number;
  /** How long a request waits for its share before it is refused, in ms. */
  readonly patience: number;
}

/** Up to this size a body counts as small and may use the part that large ones leave free. */
const SMALL_BODY = 128 * 1024;
/** One part in this many of the whole is kept for small bodies. */
const SMALL_RESERVE = 8;
/** One client's bodies together get at most one part in this many of the whole. */
const CLIENT_SHARE = 4;
/** One part in this many of the setting is for bytes that arrive before their body is admitted. */
const EARLY_PART = 8;
/** Of those, one client's bytes together get at most one part in this many. */
const EARLY_CLIENT_SHARE = 2;

/** The smallest total that can ever admit a body of `largest` bytes. */
export function leastBodyMemory(largest: number): number {
  return Math.ceil(largest / (1 - 1 / EARLY_PART) / (1 - 1 / SMALL_RESERVE));
}

/**
 * Bounds the memory of all request bodies at once (contract §2, `SERVICE_BODY_MEMORY_BYTES`).
 *
 * A request gets the memory of its whole body at once or waits for it, so two half-received bodies never
 * wait for each other. Who waits is served in order, past those that do not fit yet.
 */
export class BodyMemory {
  readonly #total: number;
  readonly #patience: number;
  readonly #perClient = new Map<string, number>();
  readonly #queue: Waiting[] = [];
  readonly #earlyTotal: number;
  readonly #earlyPerClient = new Map<string, number>();
  #used = 0;
  #early = 0;

  constructor({ total, patience }: BodyMemoryOptions) {
    this.#earlyTotal = total / EARLY_PART;
    this.#total = total - this.#earlyTotal;
    this.#patience = patience;
  }

  /** Bytes held by requests now. */
  get used(): number {
    return this.#used + this.#early;
  }

  /**
   * Holds bytes that arrived before their body was admitted: a paused socket still delivers what it has
   * read, up to some megabytes.
   * @throws Refusal `busy` where too many such bytes are held, of all clients or of this one
   */
  holdEarly(client: string, size: number): void {
    const held = (this.#earlyPerClient.get(client) ?? 0) + size;
    if (this.#early + size > this.#earlyTotal || held > this.#earlyTotal / EARLY_CLIENT_SHARE) throw busy();
    this.#early += size;
    this.#earlyPerClient.set(client, held);
  }

  /** Gives back what `holdEarly` held. */
  releaseEarly(client: string, size: number): void {
    this.#early -= size;
    subtract(this.#earlyPerClient, client, size);
  }

  /** The memory for a body of `size` bytes where it is free now. */
  tryReserve(client: string, size: number): Reservation | undefined {
    if (!this.#fits(client, size)) return undefined;
    return this.#take(client, size);
  }

  /**
   * The memory for a body of `size` bytes, after waiting where it is not free.
   * @throws Refusal `busy` when it did not become free in time
   */
  async reserve(client: string, size: number): Promise<Reservation> {
    return this.tryReserve(client, size) ?? this.#wait(client, size);
  }

  #wait(client: string, size: number): Promise<Reservation> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        client,
        size,
        admit: () => {
          clearTimeout(timer);
          resolve(this.#take(client, size));
        },
      };
      const timer = setTimeout(() => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        reject(busy());
      }, this.#patience);
      this.#queue.push(waiting);
    });
  }

  #fits(client: string, size: number): boolean {
    const limit = size <= SMALL_BODY ? this.#total : this.#total - this.#total / SMALL_RESERVE;
    if (this.#used + size > limit) return false;
    // A client's first body is never held back by its share, however large a body may be.
    const held = this.#perClient.get(client) ?? 0;
    return held === 0 || held + size <= this.#total / CLIENT_SHARE;
  }

  #take(client: string, size: number): Reservation {
    this.#used += size;
    this.#perClient.set(client, (this.#perClient.get(client) ?? 0) + size);
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        this.#give(client, size);
      },
    };
  }

  #give(client: string, size: number): void {
    this.#used -= size;
    subtract(this.#perClient, client, size);
    for (let i = 0; i < this.#queue.length; ) {
      const next = this.#queue[i]!;
      if (!this.#fits(next.client, next.size)) {
        i++;
        continue;
      }
      this.#queue.splice(i, 1);
      next.admit();
    }
  }
}

function subtract(counts: Map<string, number>, client: string, size: number): void {
  const left = (counts.get(client) ?? 0) - size;
  if (left > 0) counts.set(client, left);
  else counts.delete(client);
}

function busy(): Refusal {
  return new Refusal('busy', 'Too many uploads at once. Try again in a moment.', {
    headers: { 'Retry-After': '5' },
  });
}
