import { closeSync, type Dirent, openSync, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isFeedName, parseNoteFile } from '../../feeds/names.ts';
import { errorCode } from './failures.ts';
import { isFeedFile, isIntentName, isTempName, MOVE_FILE, noteOfMetaFile, RETIRED_FILE } from './names.ts';
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

/**
 * How much of a data folder is neither a feed nor in one, though it may have been meant so: folders and links in place
 * of feeds, and everything in the folder of a feed that is no note and says nothing of one.
 */
export async function countStrays(dir: string): Promise<number> {
  let count = 0;
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    if (isFeedFolder(entry)) count += await countInFeed(join(dir, entry.name));
    else if (!entry.isFile() && !isTempName(entry.name)) count += 1;
  }
  return count;
}

async function countInFeed(folder: string): Promise<number> {
  const all = await readdir(folder, { withFileTypes: true });
  const notes = new Set(all.filter(isNote).map(({ name }) => name));
  const belongs = (entry: Dirent) => {
    const note = noteOfMetaFile(entry.name);
    return isNote(entry) || isFeedFile(entry.name) || (note !== undefined && notes.has(note));
  };
  return all.filter((entry) => !belongs(entry)).length;
}

function isFeedFolder(entry: Dirent): boolean {
  return entry.isDirectory() && isFeedName(entry.name);
}

function isNote(entry: Dirent): boolean {
  return entry.isFile() && parseNoteFile(entry.name) !== undefined;
}
