import type { Environment } from '../../setting.ts';
import type { Options } from '../command.ts';

/** One of the things that `npm run operator` does. */
export interface Action {
  /** It needs a word: a feed, an address, or what it is about. */
  readonly takesArgument?: boolean;
  readonly options?: readonly string[];
  /** Gives the exit code if it may be another than 0. What it throws is shown as one line. */
  run(word: string, options: Options, env: Environment): Promise<number | undefined>;
}
