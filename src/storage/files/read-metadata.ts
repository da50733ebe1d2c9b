import { join } from 'node:path';
import { type FeedName, isReadId, type NoteFile, type ReadId } from '../../feeds/names.ts';
import type { Log } from '../../telemetry/log.ts';
import { NO_SETTINGS, parseMeta, parseSettings, type StoredMeta } from '../metadata.ts';
import type { FeedFiles } from './feed-index.ts';
import { LICENSE_FILE, metaFile, PASSWORD_FILE, READ_ID_FILE, SETTINGS_FILE } from './names.ts';
import { isFolder, isThere, readDotFile, readLine } from './read-file.ts';
import type { Stamp } from './stamp.ts';

/** Stands for the hash in a `.password` that has none or cannot be read: no password has it. */
const UNMATCHED_HASH = '!';

/** Stands for the read id in a `.readid` that has none or cannot be read. */
export const UNREADABLE_READ_ID = '!' as ReadId;

/** Writes sentences about one feed. */
type FeedLog = Readonly<Record<'warn' | 'error', (message: string) => void>>;

/** The log for sentences about a feed. */
export function logOfFeed(log: Pick<Log, 'warn' | 'error'>, feed: FeedName): FeedLog {
  return {
    warn: (message) => log.warn(message, { feed }),
    error: (message) => log.error(message, { feed }),
  };
}

/** The content and the stamp of a note's metadata file; undefined if there is none. */
export async function readMetaFile(
  folder: string,
  file: NoteFile,
): Promise<(StoredMeta & { readonly stamp: Stamp }) | undefined> {
  const found = await readDotFile(join(folder, metaFile(file)));
  return found && { ...parseMeta(found.text), stamp: found.stamp };
}

/**
 * Reads what the dot files of a feed say; undefined when its folder is gone.
 * @param hasLicense false if the folder is known to hold no `.license`, which is then not read
 */
export async function readFeedFiles(
  folder: string,
  log: FeedLog,
  hasLicense = true,
): Promise<FeedFiles | undefined> {
  const storedReadId = await readReadId(join(folder, READ_ID_FILE));
  const json = (await readDotFile(join(folder, SETTINGS_FILE)))?.text;
  const settings = json === undefined ? NO_SETTINGS : parseSettings(json);
  const passwordHash = await readPasswordHash(join(folder, PASSWORD_FILE));
  const license = hasLicense ? await readLicense(join(folder, LICENSE_FILE)) : undefined;
  // Looked at last: files missing from a folder that went away would open the feed to everybody.
  if (!(await isFolder(folder))) return undefined;
  if (!settings) log.warn('the .feed.json of a feed is not a JSON object and counts as unset');
  if (storedReadId === UNREADABLE_READ_ID)
    log.error('the .readid of a feed cannot be read or holds no read id, so the feed has no read link');
  return {
    storedReadId,
    settings: settings ?? NO_SETTINGS,
    passwordHash,
    ...(license && { license }),
  };
}

/** Whatever is there under that name is a link that was given to readers: only its absence makes the feed have another. */
async function readReadId(path: string): Promise<ReadId | undefined> {
  const text = await readLine(path);
  if (text !== undefined && isReadId(text)) return text;
  return text !== undefined || (await isThere(path)) ? UNREADABLE_READ_ID : undefined;
}

/** Whether it counts is found out when that is asked. */
async function readLicense(path: string): Promise<FeedFiles['license']> {
  const text = await readLine(path);
  if (!text) return undefined;
  const { licenseId } = await import('../../licenses/format.ts');
  return { text, id: licenseId(text) };
}

/** Whatever is there under that name protects, be it a link or a folder: only its absence opens a feed. */
async function readPasswordHash(path: string): Promise<string | undefined> {
  const text = await readLine(path);
  if (text) return text;
  return (await isThere(path)) ? UNMATCHED_HASH : undefined;
}
