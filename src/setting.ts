import { readFileSync } from 'node:fs';
import { closest } from 'fastest-levenshtein';
import { errorCode } from './system-errors.ts';

export interface Kind<T> {
  /** The end of the sentence "<name> must be …". */
  readonly rule: string;
  /** The value of a text, or undefined if it breaks the rule. Never throws. */
  readonly parse: (text: string) => T | undefined;
  /** A wrong value must not be shown. */
  readonly secret?: boolean;
}

export interface Setting<T> {
  readonly name: string;
  readonly kind: Kind<T>;
  /** The value when the variable is unset. */
  readonly fallback: T;
}

export function setting<T, F extends T | undefined = undefined>(
  name: string,
  kind: Kind<T>,
  fallback?: F,
): Setting<T | F> {
  return { name, kind, fallback: fallback as F };
}

export type Environment = Readonly<Record<string, string | undefined>>;

const MAX_SHOWN = 60;

/**
 * Reads a setting from its variable or from the file that `<name>_FILE` names (one final newline is dropped).
 * An empty variable counts as unset; an empty file is a problem. `problem` is a sentence.
 */
export function readSetting<T>(
  env: Environment,
  setting: Setting<T>,
): { readonly value: T } | { readonly problem: string } {
  const { name, kind } = setting;
  const path = env[`${name}_FILE`];
  let text = env[name] ?? '';
  if (path) {
    if (text) return { problem: `${name} and ${name}_FILE must not both be set` };
    try {
      text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      return { problem: `${name}_FILE must name a readable file (${errorCode(error)})` };
    }
    if (text === '') return { problem: `${name}_FILE names an empty file` };
  }
  if (text === '') return { value: setting.fallback };
  const value = kind.parse(text);
  if (value !== undefined) return { value };
  // A URL with a password may be in the wrong variable.
  const isShown = !kind.secret && !text.includes('://');
  const shown = isShown ? `, not ${JSON.stringify(text.slice(0, MAX_SHOWN))}` : '';
  return { problem: `${name}${path ? ` (from ${name}_FILE)` : ''} must be ${kind.rule}${shown}` };
}

/** Whether a setting has a value, in its variable or in a file. */
export function isSet(env: Environment, name: string): boolean {
  return Boolean(env[name] || env[`${name}_FILE`]);
}

/** A sentence for each of these variables without a value. */
export function missingSettings(env: Environment, names: readonly string[], reason: string): string[] {
  return names.filter((name) => !isSet(env, name)).map((name) => `${name} must be set where ${reason}`);
}

/**
 * Variables that Kubernetes, and Docker with links, set for each of their services whose name begins with "service":
 * names of addresses, and URLs of transport protocols.
 */
const INJECTED_NAME =
  /^SERVICE_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const INJECTED_VALUE = /^(tcp|udp|sctp):\/\//;

/**
 * A sentence for each `SERVICE_…` variable that is no setting and no `_FILE` twin of one, because a misspelled
 * SERVICE_PASSWORD would open the instance to all. Holds no value.
 */
export function unknownSettings(env: Environment, names: readonly string[]): string[] {
  const known = names.flatMap((name) => [name, `${name}_FILE`]);
  return Object.entries(env)
    .filter(([name, value]) => name.startsWith('SERVICE_') && value && !known.includes(name))
    .filter(([name, value]) => !INJECTED_NAME.test(name) && !INJECTED_VALUE.test(value!))
    .map(([name]) => `${name} is no setting of this service; the nearest one is ${nearest(name, known)}`);
}

/**
 * A sentence for each `NOTEFEED_…` variable whose `SERVICE_…` is a setting, because NOTEFEED_PASSWORD protected the reference
 * and would leave this instance open. Holds no value.
 */
export function formerSettings(env: Environment, names: readonly string[]): string[] {
  const former = names
    .filter((name) => name.startsWith('SERVICE_'))
    .flatMap((name) => [name, `${name}_FILE`])
    .map((name) => [name.replace('SERVICE_', 'NOTEFEED_'), name] as const);
  return former
    .filter(([name]) => env[name])
    .map(([name, now]) => `${name} is no setting of this service: set ${now} in its place`);
}

/** Compares without the prefix, so that SERVICE_PORT is nearest to PORT. */
function nearest(name: string, known: readonly string[]): string {
  const bare = (text: string) => text.toUpperCase().replace('SERVICE_', '');
  return known[known.map(bare).indexOf(closest(bare(name), known.map(bare)))]!;
}
