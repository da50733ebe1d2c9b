import { resolve } from 'node:path';
import { readImages, readSome } from '../config.ts';
import { configuredPlace, openSource } from '../images/open-images.ts';
import { copy, type Summary, summarize } from '../moving/copy.ts';
import { areNested, digestOf, lockSource, lockTarget, type Place } from '../moving/places.ts';
import { dataOwner } from '../privileges.ts';
import { Refusal } from '../refusals.ts';
import type { Environment } from '../setting.ts';
import { databaseUrl } from '../setting-kinds.ts';
import type { Archive, LockedPlace } from '../storage/archive.ts';
import { cannotBeUsed } from '../system-errors.ts';
import { type Command, Progress, WrongArguments } from './command.ts';

/** The most names of entries left behind that are listed. */
const MAX_LISTED = 50;

interface Both {
  readonly source: LockedPlace;
  readonly target: LockedPlace;
  readonly progress: Progress;
}

const HELP = `npm run move -- --from <place> --to <place> [--accept-read-ids]

Copies a whole instance into an empty place, and compares both. A place is fs: and a data folder, sqlite: and a database file,
postgres for the database that SERVICE_DATABASE_URL names, or its URL. The service must not run meanwhile. Stopped, the same
command goes on. --accept-read-ids moves feeds that have the read id of another one with the links that they have now.
docs/backends.md has the details.
`;

const ACCEPT = 'accept-read-ids';

export const command: Command = {
  help: HELP,
  options: ['from', 'to'],
  flags: [ACCEPT],
  words: [0, 0],
  async run(_words, { from, to, [ACCEPT]: accept }, env) {
    if (from === undefined || to === undefined) throw new WrongArguments();
    return move(placeNamed(from, env), placeNamed(to, env), env, accept !== undefined);
  },
};

/**
 * Moves a whole instance: copies it into an empty place, or goes on where an earlier run was stopped, and then reads
 * both again to see that they hold the same. Until then the target is marked, so that no service starts on it.
 */
async function move(from: Place, to: Place, env: Environment, acceptReadIds: boolean): Promise<number> {
  const say = (message: string) => process.stderr.write(`${message}\n`);
  const log = { warn: say, error: say };
  const { puid, pgid, ...ofSecret } = readSome(env, ['puid', 'pgid', 'secret', 'derivedReadIds']);
  const imagePlace = configuredPlace(readImages(env));
  const images = imagePlace && (await openSource(imagePlace));
  const settings = {
    ...ofSecret,
    acceptReadIds,
    log,
    images,
    ownerIn: (dataDir: string) => dataOwner({ dataDir, puid, pgid }),
  };
  const source = await within('source', () => lockSource(from, settings));
  try {
    const mark = digestOf(from);
    if (digestOf(to) === mark) throw new Error('The source and the target are the same place.');
    if (areNested(from, to))
      throw new Error(
        'Either the source is a folder inside the target, or the target one inside the source.',
      );
    const target = await within('target', () => lockTarget(to, settings));
    try {
      const both = { source, target, progress: new Progress(process.stdout) };
      await copyAll(both, mark);
      await compare(both);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // The cause says to an operator what the message does not say to a client.
      const why = error.cause instanceof Error ? error.cause.message : error.message;
      throw new Error(`The move was stopped (${why}). Run it again to go on.`);
    } finally {
      await target.release();
    }
  } finally {
    await source.release();
    images?.close();
  }
  return 0;
}

/**
 * The place in an argument. `postgres` alone is the database that SERVICE_DATABASE_URL names, whose password is then not in
 * the list of processes. A wrong argument may hold a password, so it is not shown.
 */
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

async function copyAll(both: Both, mark: string): Promise<void> {
  const { progress } = both;
  await withArchives(both, async (from, to) => {
    if ((await from.mark()) !== undefined)
      throw new Error('The source is the target of a move that has not been finished.');
    await begin(to, mark);
    const strays = await from.strays();
    if (strays.length > 0) progress.say(`No part of the instance, and stays behind: ${listed(strays)}.`);
    const total = await countNotes(from);
    let done = await countNotes(to);
    let bytes = 0;
    if (done > 0) progress.say(`Going on: ${amount(done)} of ${amount(total)} notes are there.`);
    await copy(from, to, (notes, size) => {
      done += notes;
      bytes += size;
      progress.step(() => `Copied ${amount(done)} of ${amount(total)} notes (${amount(bytes)} bytes).`);
    });
  });
}

/** Opens both again, so that what is compared is what is stored. */
async function compare(both: Both): Promise<void> {
  const { source, target, progress } = both;
  await withArchives(both, async (from, to) => {
    const total = 2 * (await countNotes(from));
    let read = 0;
    const onRead = () => {
      read += 1;
      progress.step(() => `Read ${amount(read)} of ${amount(total)} notes again to compare them.`);
    };
    const wanted = describe(await summarize(from, onRead));
    const found = describe(await summarize(to, onRead));
    if (found !== wanted) {
      throw new Error(
        `The target is not the same as the source: it holds ${found}, and the source ${wanted}. ` +
          'Remove what is in the target and move again.',
      );
    }
    await mustBeLocked('source', source);
    await mustBeLocked('target', target);
    await to.end();
    progress.say(`Moved and compared: ${found}.`);
  });
}

/** A lock may be lost without an error: with the connection that holds it, or with the file. */
async function mustBeLocked(role: string, place: LockedPlace): Promise<void> {
  if (await place.isLocked()) return;
  throw new Error(
    `The lock on the ${role} was lost, so something else may have used it meanwhile. Run the move again: it goes on, and ` +
      'compares anew.',
  );
}

/** Marks a target that is empty, and takes one that a move from the same source was stopped in. */
async function begin(target: Archive, mark: string): Promise<void> {
  const found = await target.mark();
  if (found === mark) return;
  if (found !== undefined) throw new Error('The target is already being moved into from another place.');
  const notEmpty =
    'The target is not empty: it holds feeds, read ids that feeds had, or what an operator closed.';
  for await (const _ of target.feeds()) throw new Error(notEmpty);
  for await (const _ of target.retiredReadIds()) throw new Error(notEmpty);
  for await (const _ of target.records()) throw new Error(notEmpty);
  await target.begin(mark);
}

async function countNotes(archive: Archive): Promise<number> {
  let count = 0;
  for await (const { noteCount } of archive.feeds()) count += noteCount;
  return count;
}

async function withArchives(
  { source, target }: Both,
  work: (from: Archive, to: Archive) => Promise<void>,
): Promise<void> {
  const from = await within('source', () => source.open());
  try {
    const to = await within('target', () => target.open());
    try {
      await work(from, to);
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/** Runs the work. Its errors say which of the two places they are about. */
async function within<T>(role: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const failure = cannotBeUsed(`The ${role}`, error);
    if (failure === error && error instanceof Error)
      error.message = `The ${role} cannot be used. ${error.message}`;
    throw failure;
  }
}

function describe({ feeds, notes, bytes, retiredReadIds, sha256 }: Summary): string {
  return (
    `${plural(feeds, 'feed')}, ${plural(notes, 'note')} (${amount(bytes)} bytes) and ` +
    `${plural(retiredReadIds, 'read id')} of deleted feeds, SHA-256 ${sha256}`
  );
}

/** Lists names in one sentence, each with its count; of more than `MAX_LISTED` names the first ones. */
function listed(names: readonly string[]): string {
  const all = [...Map.groupBy(names, (name) => name)].map(([name, same]) =>
    same.length === 1 ? JSON.stringify(name) : `${JSON.stringify(name)} (${amount(same.length)} times)`,
  );
  const more = all.length > MAX_LISTED ? ` and ${amount(all.length - MAX_LISTED)} other names` : '';
  return all.slice(0, MAX_LISTED).join(', ') + more;
}

function plural(count: number, what: string): string {
  return `${amount(count)} ${what}${count === 1 ? '' : 's'}`;
}

function amount(count: number): string {
  return count.toLocaleString('en');
}
