import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isServiceId } from '../../feeds/ids.ts';
import { parseNoteFile } from '../../feeds/names.ts';
import { parseObject } from '../metadata.ts';
import { syncFolder } from './folder-sync.ts';
import { isIntentName, isLeftover, isTempName, noteOfMetaFile } from './names.ts';
import { readDotFile } from './read-file.ts';

/**
 * The plan of a change that adds several files, durable before the first of them exists. The change is made when its last
 * file, written before, gets its name: while that file has its temp name, the added files must go, afterwards they must
 * stay.
 */
export interface Intent {
  /** Names of the files added before the last one: notes and metadata of notes. */
  readonly added: readonly string[];
  /** Temp name of the last one. */
  readonly last: string;
}

/**
 * Removes what a crash left in a folder: temp files, and a metadata file that was placed while its note was not. People may
 * leave metadata files of their own, so only those with an id that the service makes are its leftovers. To be done only
 * while nobody can be writing: what runs looks like what a crash left.
 * @param files names of the folder's regular files; those removed are taken from it
 * @param warn logs a sentence about the feed
 * @returns whether there was any
 */
export async function clearAway(
  folder: string,
  files: Set<string>,
  warn: (message: string) => void,
): Promise<boolean> {
  const count = files.size;
  await settleIntents(folder, files, warn);
  for (const name of files) {
    const note = noteOfMetaFile(name);
    const isOrphan = note !== undefined && !files.has(note) && isServiceId(parseNoteFile(note)!.id);
    if (isOrphan || isLeftover(name)) await remove(folder, files, name);
  }
  return files.size < count;
}

/** Ends changes with an intent, and removes the intents. Before temp files are removed, because they tell how a change ended. */
async function settleIntents(
  folder: string,
  files: Set<string>,
  warn: (message: string) => void,
): Promise<void> {
  for (const name of [...files].filter(isIntentName)) {
    const intent = parseIntent((await readDotFile(join(folder, name)))?.text);
    if (!intent) {
      warn('an unfinished change in the folder of a feed cannot be read and is left as it is');
      continue;
    }
    if (files.has(intent.last)) {
      for (const one of intent.added) if (files.has(one)) await remove(folder, files, one);
      // The intent must not go before what it names: what is left would then seem to be meant.
      await syncFolder(folder);
    }
    await remove(folder, files, name);
  }
}

/** Undefined for what the service never writes: nothing else than notes and their metadata may ever be removed. */
function parseIntent(json = ''): Intent | undefined {
  const { added, last } = parseObject(json) ?? {};
  if (!Array.isArray(added) || !added.every(isFileOfNote)) return undefined;
  return typeof last === 'string' && isTempName(last) ? { added, last } : undefined;
}

function isFileOfNote(name: unknown): name is string {
  return typeof name === 'string' && (parseNoteFile(name) ?? noteOfMetaFile(name)) !== undefined;
}

async function remove(folder: string, files: Set<string>, name: string): Promise<void> {
  await unlink(join(folder, name));
  files.delete(name);
}
