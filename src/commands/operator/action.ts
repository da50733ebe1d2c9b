import type { Environment } from '../../setting.ts';
import type { Options } from '../command.ts';

/** One of the things that `npm run operator` does. */
export interface Action {
  /** It takes one argument: a feed, an address, or the word after `images`. */
  readonly takesArgument?: boolean;
  readonly options?: readonly string[];
  /** Returns the exit code, undefined for 0. An error that it throws is shown as one line. */
  run(word: string, options: Options, env: Environment): Promise<number | undefined>;
}
