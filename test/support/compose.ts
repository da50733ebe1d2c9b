import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** What tests look at of a service in a compose file. */
export interface ComposeService {
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly stop_grace_period?: string;
  readonly sysctls?: Readonly<Record<string, string>>;
  readonly networks?: { readonly inside?: { readonly ipv4_address?: string } };
  readonly [other: string]: unknown;
}

/** A compose file of deploy/, with its variables such as `${NAME:-default}` and `${NAME:?why}` filled in. */
export function composeServices(
  file: string,
  variables: Readonly<Record<string, string>> = {},
): Record<string, ComposeService> {
  const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
  const filled = (value: string) =>
    value.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name, sign, rest) => {
      if (!variables[name] && sign === '?') throw new Error(`${name} is not set: ${rest}`);
      return variables[name] || rest;
    });
  const fill = (_: unknown, value: unknown) => (typeof value === 'string' ? filled(value) : value);
  return parse(text, fill, { merge: true }).services;
}

/** The environment of a service as its container gets it. */
export function environmentOf({ environment = {} }: ComposeService): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]));
}
