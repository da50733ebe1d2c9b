import { lstatSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { NoteFile } from '../../feeds/names.ts';
import { isGone } from './failures.ts';
import { type Mark, markOf, parseMarks } from './marks.ts';
import { MARKS_FILE, noteOfMetaFile } from './names.ts';
import { findAgain, mustHaveDataFolder, readWhole } from './read-file.ts';
import { type FeedLog, readMetaFile, UnreadableFile } from './read-metadata.ts';

/** Files looked at, and open for reading, at once. */
const AT_ONCE = 64;

/** What `.marks` had when it was read. */
export interface MarksRead {
  readonly bytes: number;
  readonly lines: number;
  /** The time up to which the file claims to be complete, ms since the epoch. */
  readonly since: number;
  /** Metadata files that it did not vouch for. */
  readonly unsaved: number;
}

/**
 * Finds the marks of all notes of a feed. Reads `.marks`, and the metadata files that changed since it was complete: by
 * their ctime, which a copy or a move of the file into the folder sets, too. Blocks the thread that calls it for some ms at a time.
 * @param pause is waited for between two pieces of work
 * @throws the system's error; as `mustHaveDataFolder`
 */
export async function findMarks(
  folder: string,
  pause: () => Promise<unknown>,
  found: (marks: readonly Mark[]) => void,
): Promise<MarksRead> {
  const dir = dirname(folder);
  const file = await readWhole(join(folder, MARKS_FILE));
  const { marks, since, lines } = await parseMarks(new TextDecoder().decode(file?.bytes), pause);
  // The clock was put back: nobody knows by how much.
  const isVouched = since <= Date.now();
  let unsaved = 0;
  const missing: string[] = [];
  const find = async (name: string) => {
    const note = noteOfMetaFile(name);
    const stats = note && lstatSync(join(folder, name), { throwIfNoEntry: false });
    if (note && !stats) missing.push(name);
    if (!stats) return undefined;
    if (isVouched && stats.ctimeMs < since) return marks.get(note);
    unsaved += 1;
    return readMark(folder, note);
  };
  const findAll = async (names: readonly string[]) => {
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const batch = await Promise.all(names.slice(at, at + AT_ONCE).map(find));
      found(batch.filter((mark) => mark !== undefined));
      await pause();
    }
    await mustHaveDataFolder(dir);
  };
  await findAll((await findAgain(dir, () => listed(folder))) ?? []);
  // A listed file that was not found has been removed since, or the data folder was away for a moment.
  if (missing.length > 0) await findAll(missing.splice(0));
  return { bytes: file?.bytes.byteLength ?? 0, lines, since, unsaved };
}

/**
 * The mark in the metadata file of a note. What cannot be read counts as none; the log, if given, is told. Throws as
 * `mustHaveDataFolder`.
 */
export async function readMark(folder: string, file: NoteFile, log?: FeedLog): Promise<Mark | undefined> {
  try {
    const found = await findAgain(dirname(folder), () => readMetaFile(folder, file));
    return found && markOf(file, found.meta);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    if (log) error.tell(log);
    return undefined;
  }
}

/** The names in a folder; undefined if it is not there. */
async function listed(folder: string): Promise<string[] | undefined> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
