import { rmSync } from 'node:fs';
import { join } from 'node:path';

const END = '.search.db';

/** The file of the index of a data folder. */
export function indexOfFolder(dir: string): string {
  return join(dir, END);
}

/** The file of the index of a database file. */
export function indexOfDatabase(path: string): string {
  return path.replace(/\.db$/, '') + END;
}

/** Throws an error with a sentence for the operator if a database is named as an index, which is removed when it is broken. */
export function mustNotBeNamedAsIndex(path: string): void {
  if (path.endsWith(END))
    throw new Error(
      `The database file ${path} is named as an index of the search: its name must not end in ${END}.`,
    );
}

/** An index, and what SQLite keeps beside it. */
export function filesOfIndex(path: string): string[] {
  return ['', '-wal', '-shm'].map((end) => path + end);
}

/**
 * Removes the index, if there is one. The log goes last, because the file may be of no use without it; a log alone is removed before another file is
 * made, because the engine would write it into that.
 */
export function removeIndex(path: string): void {
  for (const file of filesOfIndex(path)) rmSync(file, { force: true, recursive: true });
}
