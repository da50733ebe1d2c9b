import { closeSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './failures.ts';
import { isFeedFile, isIntentName, MOVE_FILE, noteOfMetaFile, RETIRED_FILE } from './names.ts';
import { feedNames } from './scan.ts';
import * as sys from './syscalls.ts';

/**
 * Throws an error with a sentence for the operator where this process may not read what a data folder says of its
 * feeds and notes: to the running service that counts as absent, and a move would lose it. The bytes of notes are not
 * looked at.
 */
export async function mustBeReadable(dir: string): Promise<void> {
  try {
    for (const name of [RETIRED_FILE, MOVE_FILE]) mustOpen(join(dir, name));
    for (const feed of await feedNames(dir)) {
      const folder = join(dir, feed);
      for (const name of readdirSync(folder)) if (isRead(name)) mustOpen(join(folder, name));
    }
  } catch (error) {
    throw isForbidden(error) ? notOurs() : error;
  }
}

/** What is said of files that belong to others; it names none, for the name of a feed is a key. */
export function notOurs(): Error {
  return new Error(
    'Some of the files there cannot be read or changed by this user: run the move as their owner.',
  );
}

function isRead(name: string): boolean {
  return isFeedFile(name) || isIntentName(name) || noteOfMetaFile(name) !== undefined;
}

function mustOpen(path: string): void {
  try {
    closeSync(openSync(path, sys.READ));
  } catch (error) {
    if (isForbidden(error)) throw error;
  }
}

function isForbidden(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'EACCES' || code === 'EPERM';
}
