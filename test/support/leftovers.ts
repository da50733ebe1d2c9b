import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { isIntentName, isTempName, noteOfMetaFile } from '../../src/storage/files/names.ts';

/** Names in a data folder of plain files that only something unfinished has. */
export async function leftovers(dir: string): Promise<string[]> {
  const names = await readdir(dir, { recursive: true }).catch((error) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (names === undefined) return ['a folder that was removed during the look'];
  const all = new Set(names);
  return names.filter((path) => {
    const name = basename(path);
    const note = noteOfMetaFile(name);
    const isOrphan = note !== undefined && !all.has(path.slice(0, -name.length) + note);
    return isTempName(name) || isIntentName(name) || isOrphan;
  });
}
