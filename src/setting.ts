import { readFileSync } from 'node:fs';

/** One environment variable: what it may hold and what it is without a value. */
export interface Setting<T> {
  readonly name: string;
  /** The value when the variable is unset. */
  readonly fallback: T;
  /** What a value must be, as the end of the sentence "<name> must be …". */
  readonly rule: string;
  /** The value of a text, or undefined when it breaks the rule. Never throws. */
  readonly parse: (text: string) => T | undefined;
  /** The value must never be shown. */
  readonly secret: boolean;
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a setting, or the sentence that says what is wrong with it. */
export type Reading<T> = { readonly value: T } | { readonly problem: string };

const MAX_SHOWN = 60;

/**
 * Reads one setting from its variable or from the file that `<name>_FILE` names (one final newline is dropped).
 * An empty variable counts as unset. An empty file is a problem, for whoever names one means a value to be there; so are
 * both at once.
 */
export function readSetting<T>(env: Environment, setting: Setting<T>): Reading<T> {
  const { name } = setting;
  const path = env[`${name}_FILE`];
  if (!path) return parsed(setting, name, env[name] ?? '');
  if (env[name]) return { problem: `${name} and ${name}_FILE must not both be set` };
  try {
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    if (text === '') return { problem: `${name}_FILE names an empty file` };
    return parsed(setting, `${name} (from ${name}_FILE)`, text);
  } catch (error) {
    return { problem: `${name}_FILE must name a readable file (${(error as NodeJS.ErrnoException).code})` };
  }
}

/** Whether a setting has a value, be it in its variable or by way of a file. */
export function isSet(env: Environment, name: string): boolean {
  return Boolean(env[name] || env[`${name}_FILE`]);
}

function parsed<T>(setting: Setting<T>, label: string, text: string): Reading<T> {
  if (text === '') return { value: setting.fallback };
  const value = setting.parse(text);
  if (value !== undefined) return { value };
  // What is put into the wrong variable may be a URL with a password.
  const shown =
    setting.secret || text.includes('://') ? '' : `, not ${JSON.stringify(text.slice(0, MAX_SHOWN))}`;
  return { problem: `${label} must be ${setting.rule}${shown}` };
}

/** A setting whose text is used as it is when the test accepts it. */
export function text<F extends string | undefined>(
  name: string,
  fallback: F,
  rule: string,
  accepts: (text: string) => boolean,
): Setting<string | F> {
  return { name, fallback, rule, parse: (value) => (accepts(value) ? value : undefined), secret: false };
}

/** A whole number of `min` to `max`, in decimal digits alone. */
export function integer<F extends number | undefined>(
  name: string,
  fallback: F,
  [min, max]: readonly [number, number],
  unit = '',
): Setting<number | F> {
  const parse = (value: string) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? number : undefined;
  };
  return { name, fallback, rule: `a whole number${unit} from ${min} to ${max}`, parse, secret: false };
}

/** `1` or `0`. */
export function onOff(name: string, fallback: boolean): Setting<boolean> {
  const parse = (value: string) => (value === '1' ? true : value === '0' ? false : undefined);
  return { name, fallback, rule: '1 (on) or 0 (off)', parse, secret: false };
}

/** One of the given words. */
export function oneOf<const W extends string>(name: string, fallback: W, words: readonly W[]): Setting<W> {
  const parse = (value: string) => words.find((word) => word === value);
  return { name, fallback, rule: `one of ${words.join(', ')}`, parse, secret: false };
}
