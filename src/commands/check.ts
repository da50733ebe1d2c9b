import { readConfig } from '../config.ts';
import type { Environment } from '../setting.ts';
import { WrongArguments } from './wrong-arguments.ts';

/** Says in one line that the settings can be used. Nothing is opened or made. Throws `ConfigError` when they cannot. */
export async function check(args: readonly string[], env: Environment): Promise<number> {
  if (args.length > 0) throw new WrongArguments();
  readConfig(env);
  process.stdout.write('The settings can be used.\n');
  return 0;
}
