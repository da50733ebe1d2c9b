import { runCommand } from './commands/commands.ts';
import { ConfigError } from './config.ts';
import { errorFields } from './telemetry/fields.ts';

const [name, ...args] = process.argv.slice(2);
if (name === undefined) {
  const [{ run }, { startService }] = await Promise.all([import('./run.ts'), import('./service.ts')]);
  await run(startService);
} else {
  process.exitCode = await exitCodeOf(name);
}

async function exitCodeOf(name: string): Promise<number> {
  // Whoever read the output, such as `head`, has seen enough.
  process.stdout.on('error', () => process.exit(1));
  try {
    return await runCommand(name, args, process.env);
  } catch (error) {
    const lines = error instanceof ConfigError ? error.problems : [errorFields(error).message];
    for (const line of lines) process.stderr.write(`${line}\n`);
    return 1;
  }
}
