import type { Environment } from '../setting.ts';

/**
 * Something that the program does instead of being the service. It gets the arguments after its name and the environment
 * with the settings, says what it has to say on standard output and standard error, and gives the exit code. What it
 * throws is shown as one line (of `ConfigError` one for each problem), and the exit code is 1.
 */
export type Command = (args: readonly string[], env: Environment) => Promise<number>;

/** A command was given arguments that it does not take. The list of all commands is shown for it. */
export class WrongArguments extends Error {}

interface CommandInfo {
  /** What stands after its name. */
  readonly usage: string;
  readonly summary: string;
  /** On demand, because no command should wait for what another one needs. */
  readonly load: () => Promise<Command>;
}

const COMMANDS: Readonly<Record<string, CommandInfo>> = {
  '--check': {
    usage: '',
    summary: 'looks at the settings, says whether they can be used and what they mean, and ends',
    load: async () => (await import('./check.ts')).check,
  },
  backup: {
    usage: '<file>',
    summary: 'copies the SQLite database into a new file, while the service runs',
    load: async () => (await import('./backup.ts')).backup,
  },
  health: {
    usage: '',
    summary: 'asks the running service whether it is ready, and exits with 0 when it is',
    load: async () => (await import('./health.ts')).health,
  },
  operator: {
    usage: 'unreferenced|clean|move …',
    summary:
      'looks at the image store of the running service, removes what no note refers to, or moves pictures into it',
    load: async () => (await import('./operator.ts')).operator,
  },
  license: {
    usage: 'keygen | issue --until <last day> | check <license>',
    summary: 'makes keys and licenses of a hosted instance, for whoever sells them, and checks one',
    load: async () => (await import('./license.ts')).license,
  },
  move: {
    usage: '--from <place> --to <place>',
    summary:
      'moves an instance between backends; a place is fs:<folder>, sqlite:<file>, postgres (SERVICE_DATABASE_URL) or postgres://…',
    load: async () => (await import('./move.ts')).move,
  },
};

/** The command of that name; undefined when there is none. */
export async function commandNamed(name: string): Promise<Command | undefined> {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name]?.load() : undefined;
}

/** A line for each command. */
export function listOfCommands(): string {
  return Object.entries(COMMANDS)
    .map(([name, { usage, summary }]) => `  ${`${name} ${usage}`.trimEnd()}  ${summary}\n`)
    .join('');
}
