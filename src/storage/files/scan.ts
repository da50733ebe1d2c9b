import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { dateOfId } from '../../feeds/ids.ts';
import { type FeedName, isFeedName, type NoteFile, parseNoteFile } from '../../feeds/names.ts';
import type { Log } from '../../telemetry/log.ts';
import { isAbsent, isGone } from './failures.ts';
import { IndexedFeed } from './feed-index.ts';
import { logOfFeed } from './feed-log.ts';
import { clearAway } from './intents.ts';
import { isLeftover, LICENSE_FILE, metaFile } from './names.ts';
import { type Entry, isDatedByFile, type Unasked, unasked } from './note-list.ts';
import { statFile } from './read-file.ts';
import { readFeedFiles, readMetaFile } from './read-metadata.ts';
import type { Removals } from './removals.ts';
import { dateByFile, dateOfFile, folderIdentity, settled } from './stamp.ts';
import * as sys from './syscalls.ts';
import { UnreadableFile } from './unreadable-file.ts';

/** Folders, and hand-placed files of one folder, read at once. */
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
 * Reads all feeds of the data folder, and cleans up after a crash. `removals` gets unfinished and half removed feeds.
 */
export async function scanAll(
  dir: string,
  removals: Pick<Removals, 'add'>,
  log: Pick<Log, 'warn' | 'error'>,
): Promise<IndexedFeed[]> {
  for (const name of await readdir(dir)) if (isLeftover(name)) removals.add(join(dir, name));
  const atOnce = pLimit(PARALLEL);
  const names = await feedNames(dir);
  const scans = names.map((name) => atOnce(() => scanFeed(dir, name, log, { clean: true })));
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
  log: Pick<Log, 'warn' | 'error'>,
  { clean = false } = {},
): Promise<IndexedFeed | 'unreadable' | undefined> {
  const folder = join(dir, name);
  const ofFeed = logOfFeed(log, name);
  try {
    const stats = await sys.lstat(folder);
    if (!stats.isDirectory()) return undefined;
    const files = new Set(
      (await readdir(folder, { withFileTypes: true })).filter((one) => one.isFile()).map((one) => one.name),
    );
    // Clearing away has changed the time of the folder, which is that of the feed's last change.
    if (clean && (await clearAway(folder, files, ofFeed.warn))) return scanFeed(dir, name, log);
    const notes = await readNotes(folder, files);
    const feedFiles = await readFeedFiles(folder, ofFeed, files.has(LICENSE_FILE));
    return feedFiles && new IndexedFeed(name, folderIdentity(stats), feedFiles, notes, dateOfFile(stats));
  } catch (error) {
    if (isGone(error)) return undefined;
    if (!isAbsent(error)) throw error;
    ofFeed.warn('the folder of a feed cannot be read and is ignored');
    return 'unreadable';
  }
}

/**
 * The current entry of a note; undefined if its file is gone. The stamp is `UNSURE` if it is new, and the file could change
 * once more without another stamp.
 */
export async function readEntry(folder: string, file: NoteFile, known?: Entry): Promise<Entry | undefined> {
  const stats = await statFile(join(folder, file));
  if (!stats) return undefined;
  const { id, type } = parseNoteFile(file)!;
  const dated = dateOfId(id);
  const metaStats = await statFile(join(folder, metaFile(file)));
  const created = dated === undefined && metaStats ? await readCreated(folder, file) : undefined;
  const createdAt = dated ?? created ?? dateByFile(id, stats);
  const meta = metaStats && settled(metaStats, known?.meta);
  return { file, id, type, createdAt, stamp: settled(stats, known?.stamp), meta };
}

/** The date in the metadata; undefined also if that cannot be read, which is told when the note is. */
async function readCreated(folder: string, file: NoteFile): Promise<number | undefined> {
  const meta = await readMetaFile(folder, file).catch((error) => {
    if (!(error instanceof UnreadableFile)) throw error;
  });
  return meta?.created;
}

async function readNotes(folder: string, files: ReadonlySet<string>): Promise<(Entry | Unasked)[]> {
  const atOnce = pLimit(PARALLEL);
  const notes: (Entry | Unasked)[] = [];
  const reads: Promise<Entry | undefined>[] = [];
  for (const name of files) {
    const note = parseNoteFile(name);
    if (note && isDatedByFile(note.id)) reads.push(atOnce(() => readEntry(folder, note.file)));
    else if (note) notes.push(unasked(note.file, files.has(metaFile(note.file))));
  }
  for (const entry of await Promise.all(reads)) if (entry) notes.push(entry);
  return notes;
}
