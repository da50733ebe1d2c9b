import { Refusal } from '../refusals.ts';

/** Memory held for one request. */
export interface Reservation {
  /** May be called more than once. */
  release(): void;
}

/** A body that holds memory while it arrives. */
export interface Holder {
  /** Bytes per second of its client; infinite for a body that is not to be judged now. */
  pace(now: number): number;
  /** Ends it, so that its memory is free soon. */
  giveWay(): void;
}

interface Waiting {
  readonly client: string;
  readonly size: number;
  readonly admit: () => void;
}

/** Up to this size a body is small and may use the reserve, bytes. */
const SMALL_BODY_BYTES = 128 * 1024;
/** 1/8 of the memory is reserved for small bodies. */
const SMALL_RESERVE_DIVISOR = 8;
/** All bodies of one client get at most 1/4 of the memory. */
const CLIENT_SHARE_DIVISOR = 4;
/** The slowest pace of a body whose memory somebody else needs, bytes per second: that of imports and exports. */
const LEAST_PACE = 64 * 1024;
/** 1/8 of the setting is for bytes that arrive before their body is admitted. */
const EARLY_PART_DIVISOR = 8;
/** One client gets at most 1/2 of that part. */
const EARLY_CLIENT_SHARE_DIVISOR = 2;

/** The memory that a streamed body needs, however large it is, bytes. */
export const STREAM_MEMORY_BYTES = 2 * 1024 * 1024;

/** The smallest total that can admit a body of `largest` bytes, and any streamed one. */
export function leastBodyMemory(largest: number): number {
  return Math.ceil(
    Math.max(largest, STREAM_MEMORY_BYTES) / (1 - 1 / EARLY_PART_DIVISOR) / (1 - 1 / SMALL_RESERVE_DIVISOR),
  );
}

class Usage {
  all = 0;
  readonly #byClient = new Map<string, number>();

  of(client: string): number {
    return this.#byClient.get(client) ?? 0;
  }

  add(client: string, size: number): void {
    this.all += size;
    const sum = this.of(client) + size;
    if (sum > 0) this.#byClient.set(client, sum);
    else this.#byClient.delete(client);
  }
}

/**
 * Bounds the memory of all request bodies at once (contract §2, `SERVICE_BODY_MEMORY_BYTES`).
 *
 * A request gets the memory of its whole body at once or waits for it, so two half-received bodies never wait for each
 * other. First in, first out, but smaller requests may overtake one that does not fit yet.
 */
export class BodyMemory {
  /** Bodies refused as `busy` since the start. */
  refused = 0;
  readonly #total: number;
  readonly #earlyTotal: number;
  readonly #maxWaitMs: number;
  readonly #bodies = new Usage();
  readonly #early = new Usage();
  readonly #queue: Waiting[] = [];
  /** With the sizes that they hold. */
  readonly #holders = new Map<Holder, number>();

  /**
   * @param total of all bodies, bytes
   * @param maxWaitMs how long a request waits before it is refused, ms
   */
  constructor({ total, maxWaitMs }: { readonly total: number; readonly maxWaitMs: number }) {
    this.#earlyTotal = total / EARLY_PART_DIVISOR;
    this.#total = total - this.#earlyTotal;
    this.#maxWaitMs = maxWaitMs;
  }

  get used(): number {
    return this.#bodies.all + this.#early.all;
  }

  /**
   * Holds bytes of a body that is not admitted yet: a paused socket still delivers what it has read, up to some MB.
   * @throws Refusal `busy` if all clients, or this one, hold too many
   */
  holdEarly(client: string, size: number): void {
    const ofClient = this.#early.of(client) + size;
    if (this.#early.all + size > this.#earlyTotal || ofClient > this.#earlyTotal / EARLY_CLIENT_SHARE_DIVISOR)
      throw this.#busy();
    this.#early.add(client, size);
  }

  releaseEarly(client: string, size: number): void {
    this.#early.add(client, -size);
  }

  /**
   * The memory for a body, or undefined if it is not free now.
   * @param holder may have to give way to others; a body without one keeps its memory
   */
  tryReserve(client: string, size: number, holder?: Holder): Reservation | undefined {
    return this.#fits(client, size) ? this.#take(client, size, holder) : undefined;
  }

  /** As `tryReserve`, but waits for the memory. Throws a Refusal `busy` if it did not become free in time. */
  async reserve(client: string, size: number, holder?: Holder): Promise<Reservation> {
    const reservation = this.tryReserve(client, size, holder);
    if (reservation !== undefined) return reservation;
    const { promise, resolve, reject } = Promise.withResolvers<Reservation>();
    const waiting: Waiting = {
      client,
      size,
      admit: () => {
        clearTimeout(timer);
        resolve(this.#take(client, size, holder));
      },
    };
    const timer = setTimeout(() => {
      this.#queue.splice(this.#queue.indexOf(waiting), 1);
      reject(this.#busy());
    }, this.#maxWaitMs);
    this.#queue.push(waiting);
    return promise;
  }

  /**
   * While others wait for memory, the slowest bodies give theirs up, as many as it takes. Otherwise a few clients could hold all
   * of it with bodies that come byte by byte. Call it about every second.
   */
  makeRoom(now: number): void {
    let missing = this.#missing();
    if (missing <= 0) return;
    const slow = [...this.#holders]
      .map(([holder, size]) => ({ holder, size, pace: holder.pace(now) }))
      .filter(({ pace }) => pace < LEAST_PACE)
      .sort((a, b) => a.pace - b.pace);
    for (const { holder, size } of slow) {
      if (missing <= 0) return;
      missing -= size;
      holder.giveWay();
    }
  }

  /** Returns how many more bytes must be free so that no body waits because of other clients' bodies; 0 or less if none does. */
  #missing(): number {
    const others = this.#queue.filter(({ client, size }) => this.#isWithinShare(client, size));
    const large = others.filter(({ size }) => size > SMALL_BODY_BYTES);
    const missing = (some: readonly Waiting[], limit: number) =>
      some.length === 0 ? 0 : some.reduce((sum, { size }) => sum + size, this.#bodies.all) - limit;
    return Math.max(missing(others, this.#total), missing(large, this.#totalOfLarge));
  }

  #busy(): Refusal {
    this.refused += 1;
    return new Refusal('busy', 'Too many uploads at once. Try again in a moment.', { retryAfter: 5 });
  }

  #fits(client: string, size: number): boolean {
    const limit = size <= SMALL_BODY_BYTES ? this.#total : this.#totalOfLarge;
    return this.#bodies.all + size <= limit && this.#isWithinShare(client, size);
  }

  get #totalOfLarge(): number {
    return this.#total - this.#total / SMALL_RESERVE_DIVISOR;
  }

  /** The share never holds back a client's first body, however large. */
  #isWithinShare(client: string, size: number): boolean {
    const held = this.#bodies.of(client);
    return held === 0 || held + size <= this.#total / CLIENT_SHARE_DIVISOR;
  }

  #take(client: string, size: number, holder: Holder | undefined): Reservation {
    this.#bodies.add(client, size);
    if (holder) this.#holders.set(holder, size);
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#bodies.add(client, -size);
        if (holder) this.#holders.delete(holder);
        this.#admitWaiting();
      },
    };
  }

  #admitWaiting(): void {
    for (let i = 0; i < this.#queue.length; ) {
      const next = this.#queue[i]!;
      if (this.#fits(next.client, next.size)) {
        this.#queue.splice(i, 1);
        next.admit();
      } else i++;
    }
  }
}

const NONE = new Uint8Array(0);

/**
 * The bytes that arrive before their body is admitted, in one buffer, because chunks of one byte would take far more
 * memory.
 */
export class EarlyBytes {
  readonly #memory: BodyMemory;
  readonly #client: string;
  #buffer = NONE;
  #size = 0;

  constructor(memory: BodyMemory, client: string) {
    this.#memory = memory;
    this.#client = client;
  }

  /** Valid until the release. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  /** Appends a copy of a chunk. Throws a Refusal `busy` if there are too many bytes; the earlier ones stay. */
  add(chunk: ArrayBuffer): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.#buffer.length) this.#grow(Math.max(size, 2 * this.#buffer.length));
    this.#buffer.set(new Uint8Array(chunk), this.#size);
    this.#size = size;
  }

  /** May be called more than once. */
  release(): void {
    if (this.#buffer.length > 0) this.#memory.releaseEarly(this.#client, this.#buffer.length);
    this.#buffer = NONE;
    this.#size = 0;
  }

  #grow(capacity: number): void {
    this.#memory.holdEarly(this.#client, capacity - this.#buffer.length);
    const larger = new Uint8Array(capacity);
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}
