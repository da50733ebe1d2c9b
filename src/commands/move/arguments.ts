import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readSome } from '../../config.ts';
import type { Place } from '../../moving/places.ts';
import type { Environment } from '../../setting.ts';
import { databaseUrl } from '../../setting-kinds.ts';
import { WrongArguments } from '../commands.ts';

/**
 * The two places in the arguments of `move`; `postgres` alone is the database that SERVICE_DATABASE_URL names, whose
 * password is then not in the list of processes. Throws `WrongArguments`, `ConfigError`, or an error with a
 * sentence about a place.
 */
export function placesIn(
  args: readonly string[],
  env: Environment,
): { readonly from: Place; readonly to: Place } {
  const { from, to } = parseOptions(args);
  if (from === undefined || to === undefined) throw new WrongArguments();
  return { from: placeNamed(from, env), to: placeNamed(to, env) };
}

function parseOptions(args: readonly string[]) {
  try {
    const options = { from: { type: 'string' }, to: { type: 'string' } } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch {
    throw new WrongArguments();
  }
}

/** A wrong one may hold a password, so it is not shown. */
function placeNamed(text: string, env: Environment): Place {
  const [, kind, path] = /^(fs|sqlite):(.+)$/s.exec(text) ?? [];
  if (path?.startsWith('~')) {
    throw new Error('A path in --from and --to must not begin with ~, which shells do not replace there.');
  }
  if (kind === 'fs') return { kind, dir: resolve(path!) };
  if (kind === 'sqlite') return { kind, file: resolve(path!) };
  const database = text === 'postgres' ? readSome(env, ['database']).database : databaseUrl.parse(text);
  if (database?.kind === 'server') return { kind: 'postgres', url: database.url };
  if (text === 'postgres') throw new Error('SERVICE_DATABASE_URL must be a postgres: URL.');
  throw new Error(
    '--from and --to must each be fs: and a folder, sqlite: and a file, or postgres (the database that ' +
      'SERVICE_DATABASE_URL names) or a postgres: URL.',
  );
}
