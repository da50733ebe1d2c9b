import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The mode bits with which other users can list a folder or open files in it. */
const READ_BY_OTHERS = 0o055;

/**
 * Makes DATA_DIR if it is absent, readable by its owner only, because its folders have the names of feeds, which are keys.
 * Throws the system's error.
 */
export function makeDataFolder(dir: string): void {
  makeParents(dirname(dir));
  makeFolder(dir, 0o700);
}

/** The mode of a folder that other users can read, such as `755`; else undefined. */
export function modeReadByOthers(dir: string): string | undefined {
  const { mode } = statSync(dir);
  return mode & READ_BY_OTHERS ? (mode & 0o777).toString(8) : undefined;
}

/** Node 22 would hang with `recursive: true` in a folder such as /proc. */
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
