import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { FeedLicense } from '../../feeds/feed.ts';
import { type FeedName, isReadId, type NoteFile, type ReadId } from '../../feeds/names.ts';
import { Refusal } from '../../refusals.ts';
import type { Log } from '../../telemetry/log.ts';
import {
  type JsonObject,
  MAX_METADATA_BYTES,
  metaIn,
  NO_SETTINGS,
  parseObject,
  type StoredMeta,
  type StoredSettings,
  settingsIn,
  withLowerTags,
} from '../metadata.ts';
import { LICENSE_FILE, metaFile, PASSWORD_FILE, READ_ID_FILE, SETTINGS_FILE } from './names.ts';
import { isFolder, isThere, readLine, readWhole, whyUnreadable } from './read-file.ts';
import type { Stamp } from './stamp.ts';

/** Stands for the hash in a `.password` that has none or cannot be read: no password has it. */
export const UNMATCHED_HASH = '!';

/** Stands for the read id in a `.readid` that has none or cannot be read. */
export const UNREADABLE_READ_ID = '!' as ReadId;

/** The contents of a feed's dot files; undefined if there is no such file. */
export interface FeedFiles {
  /** The valid text of `.readid`, or `UNREADABLE_READ_ID`. */
  readonly storedReadId: ReadId | undefined;
  readonly settings: StoredSettings;
  /** The line of `.password`. */
  readonly passwordHash: string | undefined;
  /** The line of `.license` and the id it counts by. */
  readonly license?: FeedLicense | undefined;
}

/** The most states that are remembered for each log. */
const REMEMBERED = 1_000;
const written = new WeakMap<Pick<Log, 'warn'>, LRUCache<string, true>>();

export type FeedLog = ReturnType<typeof logOfFeed>;

/** The log for sentences about a feed. */
export function logOfFeed(log: Pick<Log, 'warn' | 'error'>, feed: FeedName) {
  return {
    warn: (message: string) => log.warn(message, { feed }),
    error: (message: string) => log.error(message, { feed }),
    /** Warns of the state of something, once for each state, because it is found at every look. */
    warnOnce(message: string, state: Readonly<Record<string, unknown>>) {
      const lines = written.get(log) ?? new LRUCache<string, true>({ max: REMEMBERED });
      written.set(log, lines);
      const line = JSON.stringify([feed, message, state]);
      if (!lines.has(line)) log.warn(message, { feed, ...state });
      lines.set(line, true);
    },
  };
}

/** A file that people may have written and that cannot be read: it counts as absent, but nothing overwrites it. */
export class UnreadableFile extends Refusal {
  /** Its state; undefined if it may become readable without another one. */
  readonly stamp: Stamp | undefined;
  readonly #what: { readonly file: string; readonly why: string };

  /** @param why in words that fit into brackets */
  constructor(file: string, why: string, stamp?: Stamp) {
    super('unreadable_file', `The file ${file} cannot be read (${why}): mend or remove it first.`);
    this.stamp = stamp;
    this.#what = { file, why };
  }

  tell(log: FeedLog): void {
    const changedAt = this.stamp && new Date(this.stamp.mtimeMs).toISOString();
    log.warnOnce('a file cannot be read: it counts as absent, and is not overwritten', {
      ...this.#what,
      changedAt,
    });
  }
}

/** The content and the stamp of a note's metadata file; undefined if there is none. Throws an `UnreadableFile`. */
export async function readMetaFile(
  folder: string,
  file: NoteFile,
): Promise<(StoredMeta & { readonly stamp: Stamp }) | undefined> {
  const found = await readObject(folder, metaFile(file));
  return found && { ...withLowerTags(metaIn(found.fields)), stamp: found.stamp };
}

/** The members of a feed's settings file; undefined if there is none. Throws an `UnreadableFile`. */
export async function readSettingsFile(folder: string): Promise<JsonObject | undefined> {
  return (await readObject(folder, SETTINGS_FILE))?.fields;
}

/** The JSON object in a dot file; undefined if there is no such file. */
async function readObject(
  folder: string,
  name: string,
): Promise<{ readonly fields: JsonObject; readonly stamp: Stamp } | undefined> {
  const path = join(folder, name);
  let file = await readWhole(path, MAX_METADATA_BYTES);
  if (!file) {
    const why = await whyUnreadable(path, MAX_METADATA_BYTES);
    if (why === undefined) return undefined;
    // Somebody may have put it there between the two looks.
    file = await readWhole(path, MAX_METADATA_BYTES);
    if (!file) throw new UnreadableFile(name, why);
  }
  const { bytes, stamp } = file;
  if (!isUtf8(bytes)) throw new UnreadableFile(name, 'it is not UTF-8', stamp);
  const fields = parseObject(new TextDecoder().decode(bytes));
  if (!fields) throw new UnreadableFile(name, 'it is not a JSON object', stamp);
  return { fields, stamp };
}

/**
 * Reads what the dot files of a feed say; undefined when its folder is gone.
 * @param listed all names in the folder, if it was listed just now: the other dot files are not looked for
 */
export async function readFeedFiles(
  folder: string,
  log: FeedLog,
  listed?: ReadonlySet<string>,
): Promise<FeedFiles | undefined> {
  // Files missing from a folder that was away for a moment would open the feed to everybody.
  let isFolderThere = true;
  const look = async <T>(name: string, read: (path: string) => Promise<T | undefined>) => {
    if (!isFolderThere || (listed && !listed.has(name))) return undefined;
    const found = await read(join(folder, name));
    if (found !== undefined) return found;
    isFolderThere = await isFolder(folder);
    return isFolderThere ? read(join(folder, name)) : undefined;
  };
  const storedReadId = await look(READ_ID_FILE, (path) => readGuarded(path, isReadId, UNREADABLE_READ_ID));
  const settings = (await look(SETTINGS_FILE, () => readSettings(folder, log))) ?? NO_SETTINGS;
  const isHash = (text: string) => text !== '';
  const passwordHash = await look(PASSWORD_FILE, (path) => readGuarded(path, isHash, UNMATCHED_HASH));
  const license = await look(LICENSE_FILE, readLicense);
  // This throws if the folder can be listed but not searched.
  if (listed) await isThere(join(folder, PASSWORD_FILE));
  if (!isFolderThere || !(await isFolder(folder))) return undefined;
  if (storedReadId === UNREADABLE_READ_ID)
    log.error('the .readid of a feed cannot be read or holds no read id, so the feed has no read link');
  return { storedReadId, settings, passwordHash, ...(license && { license }) };
}

/**
 * The line of a dot file. Whatever else is there under its name, be it a link or a folder, counts as `unreadable`: only its
 * absence opens a feed, or gives it another read link.
 */
async function readGuarded<T extends string>(
  path: string,
  isValid: (text: string) => boolean,
  unreadable: T,
): Promise<T | undefined> {
  let text = await readLine(path);
  if (text === undefined) {
    if (!(await isThere(path))) return undefined;
    // It may have come between the two looks.
    text = await readLine(path);
  }
  return text !== undefined && isValid(text) ? (text as T) : unreadable;
}

async function readSettings(folder: string, log: FeedLog): Promise<StoredSettings | undefined> {
  try {
    const fields = await readSettingsFile(folder);
    return fields && settingsIn(fields);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    error.tell(log);
    return NO_SETTINGS;
  }
}

/** Reads the license without checking whether it is valid, which is asked at each use. */
async function readLicense(path: string): Promise<FeedFiles['license']> {
  const text = await readLine(path);
  if (!text) return undefined;
  const { licenseId } = await import('../../licenses/licenses.ts');
  return { text, id: licenseId(text) };
}
