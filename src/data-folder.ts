import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** What others than its owner need to list a folder, or to open what they guess the name of. */
const READ_BY_OTHERS = 0o055;

/**
 * Makes DATA_DIR where it is not there, for its owner alone: the folders in it are named like feeds, whose names are
 * keys. Folders above it are made as usual. Throws the system's error.
 */
export function makeDataFolder(dir: string): void {
  makeParents(dirname(dir));
  makeFolder(dir, 0o700);
}

/** The mode of a folder that others than its owner can read, such as `755`; undefined where they cannot. */
export function modeReadByOthers(dir: string): string | undefined {
  const { mode } = statSync(dir);
  return mode & READ_BY_OTHERS ? (mode & 0o777).toString(8) : undefined;
}

/** Not `recursive: true`, with which Node 22 tries for ever in a folder such as /proc, where nothing can be made. */
function makeParents(dir: string): void {
  if (existsSync(dir)) return;
  makeParents(dirname(dir));
  makeFolder(dir, 0o777);
}

function makeFolder(dir: string, mode: number): void {
  try {
    mkdirSync(dir, mode);
  } catch (error) {
    const isThere = statSync(dir, { throwIfNoEntry: false })?.isDirectory();
    if (!isThere) throw error;
  }
}
