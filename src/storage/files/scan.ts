import { lstatSync } from 'node:fs';
import { readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { dateOfId, isServiceId } from '../../feeds/ids.ts';
import { type FeedName, type NoteFile, parseNoteFile } from '../../feeds/names.ts';
import type { Log } from '../../telemetry/log.ts';
import { parseObject } from '../metadata.ts';
import { type Intent, syncFolder } from './durable.ts';
import { isAbsent, isGone } from './failures.ts';
import { IndexedFeed } from './indexed-feed.ts';
import {
  feedsAmong,
  isFileOfNote,
  isIntended,
  isIntentName,
  isLeftover,
  isTempName,
  MARKS_FILE,
  metaFile,
  noteOfMetaFile,
} from './names.ts';
import { type Entry, type UnaskedNote, unasked } from './note-list.ts';
import { isThere, mustHaveDataFolder, readDotFile, statFile } from './read-file.ts';
import { type FeedLog, logOfFeed, readFeedFiles, readMetaFile, UnreadableFile } from './read-metadata.ts';
import { dateByFile, dateOfFile, folderIdentity, stampToKeep } from './stamp.ts';
import * as sys from './syscalls.ts';

/** Folders, and hand-placed files of one folder, read at once. */
const PARALLEL = 16;
/** Time for looking at files in one turn of the event loop, ms. */
const TURN_MS = 1;

/** How many files may fail in one look at a feed. After more, the folder or the disk is to blame. */
export const MAX_FAILURES = 16;

/** The kernel writes by itself what is older than this, ms: most file systems after 5 s, some after 30 s. */
const UNSYNCED_MS = 120_000;

/** The feeds in the data folder. */
export async function feedNames(dir: string): Promise<FeedName[]> {
  return feedsAmong(await readdir(dir, { withFileTypes: true }));
}

/**
 * Reads all feeds of the data folder, and cleans up after a crash. What it finds is durable: a kill may have come before the
 * sync of a change, and whoever reads of it now, or posts to the feed, must not lose it by a power cut. `removeLater` gets the names of unfinished and half removed feeds.
 */
export async function scanAll(
  dir: string,
  removeLater: (name: string) => void,
  log: Pick<Log, 'warn' | 'error'>,
): Promise<IndexedFeed[]> {
  for (const name of await readdir(dir)) if (isLeftover(name)) removeLater(name);
  const atOnce = pLimit(PARALLEL);
  const names = await feedNames(dir);
  await syncFolder(dir);
  const scans = names.map((name) => atOnce(() => scanFeed(dir, name, log, { clean: true })));
  return (await Promise.all(scans)).filter((feed) => feed instanceof IndexedFeed);
}

/**
 * Reads one feed's folder; undefined when it is gone. With `clean`, removes what a crash left in it. Use it only at the
 * start and after a writer died, because in other folders that may be part of a running copy or of another instance's
 * work. With `failed`, leaves out notes that cannot be read now, and puts their errors there; without, it
 * throws them.
 */
export async function scanFeed(
  dir: string,
  name: FeedName,
  log: Pick<Log, 'warn' | 'error'>,
  { clean = false, failed }: { readonly clean?: boolean; readonly failed?: Map<NoteFile, unknown> } = {},
): Promise<IndexedFeed | 'unreadable' | undefined> {
  const folder = join(dir, name);
  const ofFeed = logOfFeed(log, name);
  try {
    const stats = await sys.lstat(folder);
    if (!stats.isDirectory()) return undefined;
    const listed = await readdir(folder, { withFileTypes: true });
    const files = new Set(listed.filter((one) => one.isFile()).map((one) => one.name));
    if (clean && Date.now() - stats.ctimeMs < UNSYNCED_MS) await syncFolder(folder);
    // Clearing away has changed the time of the folder, which is that of the feed's last change.
    if (clean && (await clearAway(folder, files, ofFeed))) return scanFeed(dir, name, log);
    const notes = await readNotes(dir, folder, files, failed);
    const feedFiles = await readFeedFiles(folder, ofFeed, new Set(listed.map((one) => one.name)));
    const state = {
      identity: folderIdentity(stats),
      createdAt: stats.birthtimeMs,
      changedAt: dateOfFile(stats),
    };
    const feed = feedFiles && new IndexedFeed(name, state, feedFiles, notes);
    // Also without metadata, because it may name a time to come (`MarkKeeper`).
    if (feed && files.has(MARKS_FILE)) feed.isMarked = false;
    return feed;
  } catch (error) {
    if (isGone(error)) return undefined;
    if (!isAbsent(error)) throw error;
    ofFeed.warn('the folder of a feed cannot be read and is ignored');
    return 'unreadable';
  }
}

/** What is known of a note before it is looked at. */
interface KnownNote {
  readonly known?: Entry | undefined;
  /** A metadata file of it was seen. */
  readonly hasMeta: boolean;
}

/**
 * The current entry of a note; undefined if its file is gone. The stamp is `UNSURE` if it is new, and the file could change
 * once more without another stamp. Throws as `mustHaveDataFolder`.
 */
export async function readEntry(
  dir: string,
  folder: string,
  file: NoteFile,
  { known, hasMeta }: KnownNote,
): Promise<Entry | undefined> {
  const entry = await readOnce(folder, file, known);
  if (entry && (entry.meta || !hasMeta)) return entry;
  // What is missing may be there: the data folder may have been away for a moment.
  await mustHaveDataFolder(dir);
  return readOnce(folder, file, known);
}

async function readOnce(folder: string, file: NoteFile, known?: Entry): Promise<Entry | undefined> {
  const stats = await statFile(join(folder, file));
  if (!stats) return undefined;
  const { id, type } = parseNoteFile(file)!;
  const dated = dateOfId(id);
  const metaStats = await statFile(join(folder, metaFile(file)));
  const created = dated === undefined && metaStats ? await readCreated(folder, file) : undefined;
  const createdAt = dated ?? created ?? dateByFile(id, stats);
  const meta = metaStats && stampToKeep(metaStats, known?.meta);
  const stamp = stampToKeep(stats, known?.stamp);
  return { file, id, type, createdAt, size: stats.size, stamp, meta };
}

/** The date in the metadata; undefined also if that cannot be read, which is told when the note is. */
async function readCreated(folder: string, file: NoteFile): Promise<number | undefined> {
  const meta = await readMetaFile(folder, file).catch((error) => {
    if (!(error instanceof UnreadableFile)) throw error;
  });
  return meta?.created;
}

async function readNotes(
  dir: string,
  folder: string,
  files: ReadonlySet<string>,
  failed?: Map<NoteFile, unknown>,
): Promise<(Entry | UnaskedNote)[]> {
  const atOnce = pLimit(PARALLEL);
  const notes: (Entry | UnaskedNote)[] = [];
  const reads: Promise<Entry | undefined>[] = [];
  const leaveOut = (file: NoteFile, error: unknown) => {
    if (!failed || failed.size === MAX_FAILURES || isAbsent(error)) throw error;
    failed.set(file, error);
    return undefined;
  };
  const read = (file: NoteFile) => {
    const hasMeta = files.has(metaFile(file));
    const entry = atOnce(() => readEntry(dir, folder, file, { hasMeta })).catch((error) =>
      leaveOut(file, error),
    );
    // This may be rejected before anything waits for it, or beside another read. Without a handler that would end the process.
    entry.catch(() => {});
    reads.push(entry);
  };
  let begunAt = performance.now();
  for (const name of files) {
    const note = parseNoteFile(name);
    if (!note) continue;
    const { id, file } = note;
    // Its metadata may say another date than its name.
    if (dateOfId(id) === undefined) read(file);
    else
      try {
        // A trip to the thread pool for each would take several times as long.
        const stats = lstatSync(join(folder, name), { throwIfNoEntry: false });
        if (stats?.isFile()) notes.push(unasked(file, files.has(metaFile(file)), stats.size));
        else read(file);
      } catch (error) {
        leaveOut(file, error);
      }
    if (performance.now() - begunAt < TURN_MS) continue;
    await nextTurn();
    begunAt = performance.now();
  }
  for (const entry of await Promise.all(reads)) if (entry) notes.push(entry);
  return notes;
}

/**
 * Removes what a crash left in a folder: temp files, and a metadata file that was placed while its note was not. People may
 * leave metadata files of their own, so only those with an id that the service makes are its leftovers. To be done only
 * while nobody can be writing: what runs looks like what a crash left. Removes them from `files`, the names of the folder's
 * regular files, too. Returns whether there was any.
 */
async function clearAway(folder: string, files: Set<string>, log: FeedLog): Promise<boolean> {
  const count = files.size;
  await endUnfinished(folder, files, log);
  for (const name of files) {
    const note = noteOfMetaFile(name);
    const isOrphan = note !== undefined && !files.has(note) && isServiceId(parseNoteFile(note)!.id);
    if (isOrphan || isLeftover(name)) await remove(folder, files, name);
  }
  return files.size < count;
}

/** Ends changes with an intent, and removes the intents. Before temp files are removed, because they tell how a change ended. */
async function endUnfinished(folder: string, files: Set<string>, log: FeedLog): Promise<void> {
  for (const name of [...files].filter(isIntentName)) {
    const intent = parseIntent((await readDotFile(join(folder, name)))?.text);
    if (!intent) {
      log.warn('an unfinished change in the folder of a feed cannot be read and is left as it is');
      continue;
    }
    if ('moves' in intent) await makeAgain(folder, files, intent);
    else if (files.has(intent.last))
      for (const one of intent.added) if (files.has(one)) await remove(folder, files, one);
    // The changes that the intent names must be durable before the intent is removed.
    await syncFolder(folder);
    await remove(folder, files, name);
  }
}

async function makeAgain(folder: string, files: Set<string>, { moves, removed }: Intent): Promise<void> {
  for (const [temp, name] of moves) {
    // Something else than a file may be in its place.
    if (!files.has(temp) || (!files.has(name) && (await isThere(join(folder, name))))) continue;
    await rename(join(folder, temp), join(folder, name));
    files.delete(temp);
    files.add(name);
  }
  for (const name of removed) if (files.has(name)) await remove(folder, files, name);
}

/** The intent of earlier versions: files `added` have to go while the file `last` has its temp name. */
interface OldIntent {
  readonly added: readonly string[];
  readonly last: string;
}

/** Undefined for what the service never writes: no other file may ever be changed. */
function parseIntent(json = ''): Intent | OldIntent | undefined {
  const { moves, removed, added, last } = parseObject(json) ?? {};
  if (areNames(added, isFileOfNote) && isName(last, isTempName)) return { added, last };
  const isMove = (one: unknown) =>
    Array.isArray(one) && isName(one[0], isTempName) && isName(one[1], isIntended);
  const areMoves = Array.isArray(moves) && moves.every(isMove);
  return areMoves && areNames(removed, isIntended) ? { moves, removed } : undefined;
}

function areNames(value: unknown, isValid: (name: string) => boolean): value is string[] {
  return Array.isArray(value) && value.every((one) => isName(one, isValid));
}

function isName(value: unknown, isValid: (name: string) => boolean): value is string {
  return typeof value === 'string' && isValid(value);
}

async function remove(folder: string, files: Set<string>, name: string): Promise<void> {
  await unlink(join(folder, name));
  files.delete(name);
}
