import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isFeedName, parseNoteFile } from '../../feeds/names.ts';
import { isFeedFile, isTempName, noteOfMetaFile } from './names.ts';

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
