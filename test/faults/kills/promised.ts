import type { Reply } from '../../support/service.ts';
import { answered, Broken } from './write-kind.ts';

/** One thing that one client writes: what it is by the last answer, or what a write without an answer would have made of it. */
export class Promised<S> {
  #may: readonly S[];

  constructor(state: S) {
    this.#may = [state];
  }

  /** What it is; undefined while a write has no answer. */
  get state(): S | undefined {
    return this.#may.length === 1 ? this.#may[0] : undefined;
  }

  /** What it may be, the oldest first. */
  get states(): readonly S[] {
    return this.#may;
  }

  /** Writes what makes it this state. Throws `Broken` unless the answer has that status. */
  async write(state: S, status: number, send: () => Promise<Reply>): Promise<Reply> {
    this.#may = [...this.#may, state];
    const reply = answered(await send(), status);
    this.#may = [state];
    return reply;
  }

  /** What it was found to be, which it stays. */
  settle(found: S, what: string): void {
    const states = this.#may.map((state) => JSON.stringify(state));
    if (!states.includes(JSON.stringify(found)))
      throw new Broken(`${what} is ${JSON.stringify(found)} instead of ${states.join(' or ')}`);
    this.#may = [found];
  }
}
