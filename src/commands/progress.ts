/** Interval for rewriting the line on a terminal, and for new lines elsewhere, ms. */
const REWRITE_MS = 200;
const LINE_MS = 5_000;

/** Where lines go: standard output, a terminal or not. */
interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Reports progress: on a terminal in one line that is rewritten, elsewhere in new lines. */
export class Progress {
  readonly #output: Output;
  readonly #now: () => number;
  #last: number;
  #isOpen = false;

  /** @param now a clock in ms that never goes back */
  constructor(output: Output, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#last = now();
  }

  /** Call it after each step; `line` is called when it is time to report. */
  step(line: () => string): void {
    const isTerminal = this.#output.isTTY === true;
    if (this.#now() - this.#last < (isTerminal ? REWRITE_MS : LINE_MS)) return;
    this.#last = this.#now();
    this.#isOpen = isTerminal;
    this.#output.write(isTerminal ? `\r\x1b[K${line()}` : `${line()}\n`);
  }

  /** Prints a line that stays. */
  say(line: string): void {
    this.#output.write(`${this.#isOpen ? '\r\x1b[K' : ''}${line}\n`);
    this.#isOpen = false;
  }
}
