import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Place } from '../../storage/open-archive.ts';
import { WrongArguments } from '../wrong-arguments.ts';

/** The two places in the arguments of `move`. Throws `WrongArguments`, or an error with a sentence about a place. */
export function placesIn(args: readonly string[]): { readonly from: Place; readonly to: Place } {
  const { from, to } = parsed(args);
  if (from === undefined || to === undefined) throw new WrongArguments();
  return { from: placeNamed(from), to: placeNamed(to) };
}

function parsed(args: readonly string[]) {
  try {
    const options = { from: { type: 'string' }, to: { type: 'string' } } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch {
    throw new WrongArguments();
  }
}

/** A wrong one may hold a password, so it is not shown. */
function placeNamed(text: string): Place {
  const [, kind, path] = /^(fs|sqlite):(.+)$/s.exec(text) ?? [];
  if (kind === 'fs') return { kind, dir: resolve(path!) };
  if (kind === 'sqlite') return { kind, file: resolve(path!) };
  throw new Error('--from and --to must each be fs: and a folder, or sqlite: and a file.');
}
