import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { dateOfId, isServiceId } from '../../feeds/ids.ts';
import { type FeedName, isFeedName, type NoteFile, parseNoteFile } from '../../feeds/names.ts';
import { Gate } from '../../gate.ts';
import type { Log } from '../../telemetry/log.ts';
import { folderIdentity } from './durable.ts';
import type { Entry } from './entry.ts';
import { isAbsent, isGone } from './failures.ts';
import { IndexedFeed } from './indexed-feed.ts';
import { settleIntents } from './intents.ts';
import { isTempName, LICENSE_FILE, metaFile, noteOfMetaFile } from './names.ts';
import { statFile } from './read-file.ts';
import { readFeedFiles, readMetaFile } from './read-metadata.ts';
import type { Removals } from './removals.ts';
import { dateOfFile, isFresh, UNSEEN, UNSURE } from './stamp.ts';
import * as sys from './syscalls.ts';

/** Folders, and hand-placed files of one folder, looked at at once. */
const PARALLEL = 16;

/** The names in the data folder that are feeds: real folders with a valid name. */
export async function feedNames(dir: string): Promise<FeedName[]> {
  const all = await readdir(dir, { withFileTypes: true });
  return all
    .filter((one) => one.isDirectory())
    .map((one) => one.name)
    .filter(isFeedName);
}

/**
 * Reads all feeds of the data folder, and clears away what a crash left unfinished. Feeds half made or half removed
 * go to `removals`.
 */
export async function scanAll(
  dir: string,
  removals: Pick<Removals, 'add'>,
  log: Pick<Log, 'warn'>,
): Promise<IndexedFeed[]> {
  for (const name of await readdir(dir)) if (isTempName(name)) removals.add(join(dir, name));
  const gate = new Gate(PARALLEL);
  const names = await feedNames(dir);
  const scans = names.map((name) => gate.run(() => scanFeed(dir, name, log, { clean: true })));
  return (await Promise.all(scans)).filter((feed) => feed instanceof IndexedFeed);
}

/**
 * Reads one feed's folder; undefined when it is gone. With `clean`, removes what a crash left in it: at the start only,
 * for in a folder that appears later it may be part of a copy still under way, or of another instance's work, and what
 * is removed by mistake is lost.
 */
export async function scanFeed(
  dir: string,
  name: FeedName,
  log: Pick<Log, 'warn'>,
  { clean = false } = {},
): Promise<IndexedFeed | 'unreadable' | undefined> {
  const folder = join(dir, name);
  try {
    const stats = await sys.lstat(folder);
    if (!stats.isDirectory()) return undefined;
    const files = regularFiles(await readdir(folder, { withFileTypes: true }));
    // Clearing away has changed the time of the folder, which is that of the feed's last change.
    if (clean && (await clearAway(folder, files, log))) return scanFeed(dir, name, log);
    const entries = await readEntries(folder, files);
    const feedFiles = await readFeedFiles(folder, log, files.has(LICENSE_FILE));
    return feedFiles && new IndexedFeed(name, folderIdentity(stats), feedFiles, entries, dateOfFile(stats));
  } catch (error) {
    if (isGone(error)) return undefined;
    if (!isAbsent(error)) throw error;
    log.warn('the folder of a feed cannot be read and is ignored');
    return 'unreadable';
  }
}

/** What the index needs to know of a note; undefined when its file is gone. */
export async function readEntry(
  folder: string,
  file: NoteFile,
  hasMeta: boolean,
): Promise<Entry | undefined> {
  return entryByName(file, hasMeta) ?? entryByFile(folder, file, hasMeta);
}

/** An entry whose id says its date, so that nothing need be read. */
function entryByName(file: NoteFile, hasMeta: boolean): Entry | undefined {
  const { id, type } = parseNoteFile(file)!;
  const createdAt = dateOfId(id);
  if (createdAt === undefined) return undefined;
  return { file, id, type, createdAt, stamp: UNSEEN, meta: hasMeta ? UNSEEN : undefined, version: 0 };
}

async function entryByFile(folder: string, file: NoteFile, hasMeta: boolean): Promise<Entry | undefined> {
  const stats = await statFile(join(folder, file));
  if (!stats) return undefined;
  const stamp = isFresh(stats) ? UNSURE : { mtimeMs: stats.mtimeMs, size: stats.size };
  const found = hasMeta ? await readMetaFile(folder, file) : undefined;
  const { id, type } = parseNoteFile(file)!;
  const createdAt = found?.created ?? dateOfFile(stats);
  return { file, id, type, createdAt, stamp, meta: found?.stamp, version: 0 };
}

async function readEntries(folder: string, files: ReadonlySet<string>): Promise<Entry[]> {
  const gate = new Gate(PARALLEL);
  const entries: Entry[] = [];
  const reads: Promise<Entry | undefined>[] = [];
  for (const name of files) {
    const file = parseNoteFile(name)?.file;
    if (file === undefined) continue;
    const hasMeta = files.has(metaFile(file));
    const entry = entryByName(file, hasMeta);
    if (entry) entries.push(entry);
    else reads.push(gate.run(() => entryByFile(folder, file, hasMeta)));
  }
  for (const entry of await Promise.all(reads)) if (entry) entries.push(entry);
  return entries;
}

function regularFiles(all: readonly Dirent[]): Set<string> {
  return new Set(all.filter((one) => one.isFile()).map((one) => one.name));
}

/** Removes what a crash left; whether there was any. */
async function clearAway(folder: string, files: Set<string>, log: Pick<Log, 'warn'>): Promise<boolean> {
  const count = files.size;
  await settleIntents(folder, files, log);
  await removeLeftovers(folder, files);
  return files.size < count;
}

/**
 * Removes temp files, and a metadata file that was placed while its note was not. People may leave metadata files
 * of their own, so only those with an id that the service makes are its leftovers.
 */
async function removeLeftovers(folder: string, files: Set<string>): Promise<void> {
  for (const name of files) {
    const note = noteOfMetaFile(name);
    const orphan = note !== undefined && !files.has(note) && isServiceId(parseNoteFile(note)!.id);
    if (!orphan && !isTempName(name)) continue;
    await sys.unlink(join(folder, name));
    files.delete(name);
  }
}
