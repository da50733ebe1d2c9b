import type { Environment } from '../setting.ts';

/**
 * Something that the program does instead of being the service. It gets the arguments after its name and the environment
 * with the settings, says what it has to say on standard output and standard error, and gives the exit code. What it
 * throws is shown as one line (of `ConfigError` one for each problem), and the exit code is 1.
 */
export type Command = (args: readonly string[], env: Environment) => Promise<number>;

interface Listed {
  /** What stands after its name. */
  readonly takes: string;
  readonly does: string;
  /** On demand, for nothing is to wait for what another command needs. */
  readonly load: () => Promise<Command>;
}

const COMMANDS: Readonly<Record<string, Listed>> = {
  '--check': {
    takes: '',
    does: 'looks at the settings, says whether they can be used and what they mean, and ends',
    load: async () => (await import('./check.ts')).check,
  },
  backup: {
    takes: '<file>',
    does: 'copies the SQLite database into a new file, while the service runs',
    load: async () => (await import('./backup.ts')).backup,
  },
  health: {
    takes: '',
    does: 'asks the running service whether it is ready, and exits with 0 when it is',
    load: async () => (await import('./health.ts')).health,
  },
  operator: {
    takes: 'unreferenced|clean|move …',
    does: 'looks at the image store of the running service, removes what no note refers to, or moves pictures into it',
    load: async () => (await import('./operator.ts')).operator,
  },
  license: {
    takes: 'keygen | issue --until <last day> | check <license>',
    does: 'makes keys and licenses of a hosted instance, for whoever sells them, and checks one',
    load: async () => (await import('./license.ts')).license,
  },
  move: {
    takes: '--from <place> --to <place>',
    does: 'moves an instance between backends; a place is fs:<folder>, sqlite:<file>, postgres (SERVICE_DATABASE_URL) or postgres://…',
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
    .map(([name, { takes, does }]) => `  ${`${name} ${takes}`.trimEnd()}  ${does}\n`)
    .join('');
}
