import { parseArgs } from 'node:util';
import { type Command, type Options, WrongArguments } from './commands/command.ts';
import { ConfigError } from './config.ts';
import { errorCode } from './system-errors.ts';
import { errorFields } from './telemetry/fields.ts';
import { VERSION } from './version.ts';

/** Loaded on demand, because no command should wait for what another one needs. */
const COMMANDS: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  '--check': () => import('./commands/check.ts'),
  backup: () => import('./commands/backup.ts'),
  restore: () => import('./commands/restore.ts'),
  health: () => import('./commands/health.ts'),
  operator: () => import('./commands/operator.ts'),
  inspect: () => import('./commands/inspect.ts'),
  license: () => import('./commands/license.ts'),
  move: () => import('./commands/move.ts'),
};

/** One line for each command. */
const LIST_OF_COMMANDS = `  --check  looks at the settings and the storage, says whether they can be used and what they mean, and changes nothing
  backup <file>  copies the SQLite database into a new file, while the service runs
  restore <file>  puts a backup in the place of the SQLite database, while no service runs
  health  asks the running service whether it is ready, and exits with 0 when it is
  operator stats | feeds | delete <feed> | password <feed> | block <feed> | unblock <feed> | blocks | takedown <address> [--block] | reports | dismiss <report>  shows what the running service holds, and does what only its operator may
  operator images unreferenced|clean|move …  looks at the image store of the running service, removes what no note refers to, or moves pictures into it
  operator hash <feed>  prints what stands for a feed in the log
  inspect [--json]  lists what the service does not take in DATA_DIR, on plain files, and changes nothing
  license keygen | issue --until <last day> | check <license>  makes keys and licenses of a hosted instance, for whoever sells them, and checks one
  move --from <place> --to <place> [--accept-read-ids]  moves an instance between backends; a place is fs:<folder>, sqlite:<file>, postgres (SERVICE_DATABASE_URL) or postgres://…
`;

const HELP = `npm start
Without arguments, Note Feed serves, by the settings in the environment (docs/settings.md). With one of these it does that and
ends; --help behind it says more, and --version prints the version:
${LIST_OF_COMMANDS}`;

// A full disk behind it, or a reader that is gone, must not end the service.
process.stderr.on('error', () => {});

const [name, ...args] = process.argv.slice(2);
if (name === undefined) {
  const { run } = await import('./run.ts');
  // A supervisor of processes does not need the service itself.
  await run(async (...parts) => (await import('./service.ts')).startService(...parts));
} else {
  process.stdout.on('error', (error) => {
    // The reader of the output, such as `head`, has seen enough.
    if (errorCode(error) !== 'EPIPE')
      process.stderr.write(`Standard output cannot be written (${errorCode(error)}).\n`);
    process.exit(1);
  });
  process.exitCode = await runCommand(name).catch(explain);
}

/**
 * Runs a command, or answers `--help` or `--version`, alone or behind a command. Returns the exit code.
 * @throws WrongArguments; what the command throws
 */
async function runCommand(name: string): Promise<number> {
  if ((args[0] ?? name) === '--version') return print(`${VERSION}\n`);
  if (name === '--help' && args.length === 0) return print(HELP);
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) throw new WrongArguments();
  const { command } = await load();
  if (args.includes('--help')) return print(command.help);
  const { values, positionals } = parse(command);
  const [fewest, most] = command.words;
  if (positionals.length < fewest || positionals.length > most) throw new WrongArguments();
  return command.run(positionals, values, process.env);
}

/** Says why a command failed. Returns its exit code. */
function explain(error: unknown): number {
  let lines = error instanceof ConfigError ? error.problems : [errorFields(error).message];
  if (error instanceof WrongArguments)
    lines = [`Note Feed takes no arguments but --check or a command:\n${LIST_OF_COMMANDS.trimEnd()}`];
  for (const line of lines) process.stderr.write(`${line}\n`);
  return 1;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function parse({ options = [], flags = [] }: Command) {
  try {
    const types = Object.fromEntries([
      ...options.map((name) => [name, { type: 'string' } as const]),
      ...flags.map((name) => [name, { type: 'boolean' } as const]),
    ]);
    const { values, positionals } = parseArgs({ args, options: types, allowPositionals: true });
    const texts = Object.entries(values).map(([name, value]) => [name, value === true ? name : value]);
    return { values: Object.fromEntries(texts) as Options, positionals };
  } catch {
    throw new WrongArguments();
  }
}
