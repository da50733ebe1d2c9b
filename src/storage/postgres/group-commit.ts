import { Gathering } from '../gathering.ts';
import { mayWorkAlone } from './failures.ts';

/** The most that one commit is for: what comes later must not wait for ever. */
const COMMIT_ORDERS = 500;
const COMMIT_BYTES = 8 * 1024 * 1024;

interface Waiting<O, A> {
  readonly order: O;
  resolve(answer: A): void;
  reject(error: unknown): void;
}

export interface GroupCommitParts<O, A> {
  /** Does all orders or, when it throws, none. An order that is refused gets an error as its answer. */
  readonly commit: (orders: readonly O[]) => Promise<readonly (A | Error)[]>;
  /** About how many bytes an order brings. */
  readonly sizeOf: (order: O) => number;
}

/** Gathers the orders that come while a commit runs, and does them in the next one. */
export class GroupCommit<O, A> {
  readonly #parts: GroupCommitParts<O, A>;
  readonly #arriving = new Gathering<Waiting<O, A>>((orders) => this.#take(orders));
  readonly #waiting: Waiting<O, A>[] = [];
  #isRunning = false;

  constructor(parts: GroupCommitParts<O, A>) {
    this.#parts = parts;
  }

  /** Settles when the order is done, or has failed. */
  add(order: O): Promise<A> {
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    this.#arriving.add({ order, resolve, reject });
    return promise;
  }

  #take(orders: readonly Waiting<O, A>[]): void {
    this.#waiting.push(...orders);
    if (!this.#isRunning) this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, this.#fitting()));
    this.#isRunning = false;
  }

  /** When it fails for the orders' sake, each is done by itself, so that a bad one fails alone. */
  async #commit(group: readonly Waiting<O, A>[]): Promise<void> {
    try {
      const answers = await this.#parts.commit(group.map(({ order }) => order));
      for (const [n, { resolve, reject }] of group.entries()) {
        const answer = answers[n] as A | Error;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      }
    } catch (error) {
      if (group.length > 1 && mayWorkAlone(error)) for (const one of group) await this.#commit([one]);
      else for (const { reject } of group) reject(error);
    }
  }

  /** How many of those that wait one commit is for. */
  #fitting(): number {
    let bytes = 0;
    let count = 0;
    for (const { order } of this.#waiting.slice(0, COMMIT_ORDERS)) {
      bytes += this.#parts.sizeOf(order);
      if (count > 0 && bytes > COMMIT_BYTES) break;
      count += 1;
    }
    return count;
  }
}
