import { join } from 'node:path';
import { parseNoteFile } from '../../feeds/names.ts';
import type { Log } from '../../telemetry/log.ts';
import { syncFolder } from './folder-sync.ts';
import { isIntentName, isTempName, noteOfMetaFile } from './names.ts';
import { readDotFile } from './read-file.ts';
import * as sys from './syscalls.ts';

/**
 * What a change that adds several files is about to do. Its file is durable before the first of them is there; the
 * change stands from the moment its last file, written long before, gets its name: so while that file still has
 * its temp name, what was added must go, and afterwards it must stay.
 */
export interface Intent {
  /** Names of the files added before the last one: notes and metadata of notes. */
  readonly added: readonly string[];
  /** Temp name of the last one. */
  readonly last: string;
}

export function serializeIntent({ added, last }: Intent): string {
  return JSON.stringify({ added, last });
}

/**
 * Brings to an end what a crash left in a folder of changes with an intent, and removes the intents. To be done
 * before temp files are removed, for they tell how a change ended, and only while nobody can be writing: what runs
 * looks like what a crash left.
 * @param files names of the folder's regular files; those removed are taken from it
 */
export async function settleIntents(
  folder: string,
  files: Set<string>,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  for (const name of [...files].filter(isIntentName)) {
    const intent = parseIntent((await readDotFile(join(folder, name)))?.text);
    if (!intent) {
      log.warn('an unfinished change in the folder of a feed cannot be read and is left as it is');
      continue;
    }
    if (files.has(intent.last)) await removeDurably(folder, files, intent.added);
    await remove(folder, files, name);
  }
}

/** Undefined for what the service never writes: nothing else than notes and their metadata may ever be removed. */
function parseIntent(json: string | undefined): Intent | undefined {
  const { added, last } = parseObject(json);
  if (!Array.isArray(added) || !added.every(isFileOfNote)) return undefined;
  return typeof last === 'string' && isTempName(last) ? { added, last } : undefined;
}

function parseObject(json: string | undefined): { readonly [P in keyof Intent]?: unknown } {
  try {
    return JSON.parse(json ?? '') ?? {};
  } catch {
    return {};
  }
}

function isFileOfNote(name: unknown): name is string {
  return typeof name === 'string' && (parseNoteFile(name) ?? noteOfMetaFile(name)) !== undefined;
}

/** The intent must not go before what it names: what is left would then seem to be meant. */
async function removeDurably(folder: string, files: Set<string>, names: readonly string[]): Promise<void> {
  for (const name of names) if (files.has(name)) await remove(folder, files, name);
  await syncFolder(folder);
}

async function remove(folder: string, files: Set<string>, name: string): Promise<void> {
  await sys.unlink(join(folder, name));
  files.delete(name);
}
