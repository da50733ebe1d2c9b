import { accessSync, constants, type Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { type FeedName, type NoteFile, parseNoteFile } from '../../feeds/names.ts';
import { isNoteType, NOTE_TYPES } from '../../feeds/note-types.ts';
import { errorCode } from '../../system-errors.ts';
import { isForbidden, isGone } from './failures.ts';
import { readMark } from './find-marks.ts';
import { IndexedFeed } from './indexed-feed.ts';
import { type Mark, Marks } from './marks.ts';
import {
  isFeedFile,
  isIntentName,
  isLeftover,
  LICENSE_FILE,
  MARKS_FILE,
  metaFile,
  noteOfMetaFile,
  PASSWORD_FILE,
  READ_ID_FILE,
} from './names.ts';
import { type FeedLog, readFeedFiles, UNMATCHED_HASH, UNREADABLE_READ_ID } from './read-metadata.ts';

/** Metadata files of a feed that are read at once. */
const AT_ONCE = 16;
/** The sums and lists that these are for are not asked for. */
const NO_STATE = { identity: '', createdAt: 0, changedAt: 0 };

/** `kind`: a file where a folder must be, or the like. `lines`: some lines of a file. */
type Problem =
  | 'name'
  | 'extension'
  | 'kind'
  | 'link'
  | 'unreadable'
  | 'metadata'
  | 'lines'
  | 'read_id'
  | 'key'
  | 'leftover';

/** The second is for people, without a full stop. */
export type Reason = readonly [problem: Problem, why: string];

/** Something in a data folder that the service does not take. */
export interface Finding {
  /** Below the data folder: it has the name of the feed. */
  readonly path: string;
  readonly problem: Problem;
  readonly why: string;
}

/** What is in the folder of a feed. */
interface InspectedFeed {
  /** Without its notes; undefined if the service does not take it. */
  readonly feed?: IndexedFeed;
  readonly noteCount: number;
  readonly found: readonly Finding[];
}

/** Finds what the service does not take in the folder of a feed, and changes nothing. */
export async function inspectFeed(dir: string, name: FeedName): Promise<InspectedFeed> {
  try {
    return await new FeedInspection(dir, name).run();
  } catch (error) {
    const found = isGone(error) ? [] : [finding(name, 'unreadable', whyOf(error))];
    return { noteCount: 0, found };
  }
}

class FeedInspection {
  readonly #name: FeedName;
  readonly #folder: string;
  readonly #found: Finding[] = [];
  readonly #log: FeedLog = {
    warn: () => {},
    error: () => {},
    warnOnce: (_message, { file, why }) => this.#add(String(file), 'metadata', String(why)),
  };

  constructor(dir: string, name: FeedName) {
    this.#name = name;
    this.#folder = join(dir, name);
  }

  /** Throws what the system does if the folder cannot be read. */
  async run(): Promise<InspectedFeed> {
    const entries = await readdir(this.#folder, { withFileTypes: true });
    const files = await readFeedFiles(this.#folder, this.#log);
    if (!files) return { noteCount: 0, found: [] };
    if (files.storedReadId === UNREADABLE_READ_ID)
      this.#add(READ_ID_FILE, 'read_id', 'cannot be read or holds no read id, so the feed has no read link');
    if (files.passwordHash === UNMATCHED_HASH)
      this.#add(PASSWORD_FILE, 'unreadable', 'cannot be read or is empty, so no password opens the feed');
    const taken = entries.filter((entry) => this.#isTaken(entry));
    await this.#inspectMetadata(new Set(entries.map(({ name }) => name)));
    const feed = new IndexedFeed(this.#name, NO_STATE, files);
    const noteCount = taken.filter(({ name }) => parseNoteFile(name) !== undefined).length;
    return { feed, noteCount, found: this.#found };
  }

  /** Whether the service reads what has that name. */
  #isTaken(entry: Dirent): boolean {
    const { name } = entry;
    const isMeta = noteOfMetaFile(name) !== undefined;
    const isKnown = parseNoteFile(name) !== undefined || name === MARKS_FILE || name === LICENSE_FILE;
    // Reading these tells what is wrong with them.
    if (isMeta || (isFeedFile(name) && name !== LICENSE_FILE)) return true;
    const problem = isKnown ? whyNotRead(this.#folder, entry) : whyNotNamed(entry);
    if (problem) this.#add(name, ...problem);
    return problem === undefined;
  }

  async #inspectMetadata(names: ReadonlySet<string>): Promise<void> {
    const atOnce = pLimit(AT_ONCE);
    const described = [...names].flatMap((name) => noteOfMetaFile(name) ?? []);
    for (const file of described)
      if (!names.has(file)) this.#add(metaFile(file), 'metadata', 'there is no such note');
    const reads = described
      .filter((file) => names.has(file))
      .map((file) => atOnce(() => readMark(this.#folder, file, this.#log)));
    const marks = (await Promise.all(reads)).filter((mark) => mark?.key !== undefined) as Mark[];
    for (const ofKey of Map.groupBy(marks, ({ key }) => key).values()) {
      if (ofKey.length === 1) continue;
      const holder = holderAmong(ofKey);
      for (const { file } of ofKey)
        if (file !== holder) this.#add(file, 'key', `the note ${holder} has the same key`);
    }
  }

  #add(file: string, problem: Problem, why: string): void {
    this.#found.push(finding(join(this.#name, file), problem, why));
  }
}

export function finding(path: string, problem: Problem, why: string): Finding {
  return { path, problem, why };
}

/** Why nothing but a regular file that may be read is taken; undefined for such a file, and for one that is gone. */
export function whyNotRead(folder: string, entry: Dirent): Reason | undefined {
  if (!entry.isFile()) return notOfKind(entry, 'file');
  try {
    accessSync(join(folder, entry.name), constants.R_OK);
    return undefined;
  } catch (error) {
    if (!isGone(error)) return ['unreadable', whyOf(error)];
    return entry.name.includes('\ufffd') ? ['name', 'the name is not UTF-8'] : undefined;
  }
}

export function notOfKind(entry: Dirent, expected: 'file' | 'folder'): Reason {
  return entry.isSymbolicLink() ? ['link', 'links are ignored'] : ['kind', `it is not a ${expected}`];
}

/** A half written change. */
export function whyUnfinished(name: string): Reason | undefined {
  return isLeftover(name) || isIntentName(name)
    ? ['leftover', 'a crash left it; the next start of the service clears it away']
    : undefined;
}

/** Of a name that means nothing in the folder of a feed. */
function whyNotNamed(entry: Dirent): Reason {
  const { name } = entry;
  const unfinished = whyUnfinished(name);
  if (unfinished) return unfinished;
  if (!entry.isFile()) return notOfKind(entry, 'file');
  if (name.startsWith('.')) return ['name', 'the service does not know this dot file'];
  if (isNoteType(name.slice(name.lastIndexOf('.') + 1)))
    return ['name', 'the name of a note has no dot but that of its extension'];
  return ['extension', `the extension of a note is one of ${NOTE_TYPES.join(', ')}`];
}

function whyOf(error: unknown): string {
  return isForbidden(error) ? 'the service has no permission' : String(errorCode(error) ?? error);
}

function holderAmong(ofKey: readonly Mark[]): NoteFile {
  const marks = new Marks();
  for (const mark of ofKey) marks.set(mark);
  return marks.holdersOf(ofKey[0]!.key!, Date.now())[0]!;
}
