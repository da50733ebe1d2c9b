import type { Reply } from '../service.ts';
import { answered, Broken, type Load } from './write-kind.ts';

/** One thing that one client writes: what it is by the last answer, or what a write without an answer would have made of it. */
export class Promised<S> {
  readonly #load: Load;
  #may: readonly S[];

  constructor(load: Load, state: S) {
    this.#load = load;
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

  /** Writes what makes it this state. Throws `Broken` unless the answer has one of the statuses. */
  async write(state: S, statuses: number | readonly number[], send: () => Promise<Reply>): Promise<Reply> {
    this.#may = [...this.#may, state];
    const reply = answered(await this.#load.answer(send), ...[statuses].flat());
    this.#may = [state];
    return reply;
  }

  /**
   * What it was found to be, which it stays: a later fault takes nothing away that was seen. Throws `Broken` if it may not be that.
   * @param shownOf what the service shows of a state at the moment
   */
  settle(found: unknown, what: string, shownOf: (state: S) => unknown = (state) => state): void {
    const shown = this.#may.map((state) => JSON.stringify(shownOf(state)));
    const at = shown.lastIndexOf(JSON.stringify(found));
    if (at < 0)
      throw new Broken(
        `${what} is ${brief(JSON.stringify(found))} instead of ${shown.map(brief).join(' or ')}`,
      );
    this.#may = [this.#may[at]!];
  }
}

function brief(text: string): string {
  return text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text;
}
