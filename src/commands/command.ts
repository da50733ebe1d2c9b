import type { Environment } from '../setting.ts';

/** Values of options by their names. */
export type Options = Readonly<Record<string, string | undefined>>;

/** A command of the program beside serving. */
export interface Command {
  /** Shown for `--help`. */
  readonly help: string;
  /** Options that it takes, each with a value. */
  readonly options?: readonly string[];
  /** Options without a value; if given, they have their name as value. */
  readonly flags?: readonly string[];
  /** The fewest and the most arguments beside options. */
  readonly words: readonly [number, number];
  /**
   * Writes to standard output and standard error, and returns the exit code. An error that it throws is shown as one line (a
   * `ConfigError` as one for each problem), and the exit code is 1.
   * @param env has the settings
   */
  run(words: readonly string[], options: Options, env: Environment): number | Promise<number>;
}

/** A command was given arguments that it does not take. The list of all commands is shown for it. */
export class WrongArguments extends Error {}

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
    this.end();
    this.#output.write(`${line}\n`);
  }

  /** Takes the line of a terminal away. */
  end(): void {
    if (this.#isOpen) this.#output.write('\r\x1b[K');
    this.#isOpen = false;
  }
}
