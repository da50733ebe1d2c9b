import { closeSync, type Dirent, openSync, readdirSync, utimesSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type FeedName, isFeedName, isReadId, parseNoteFile, type ReadId } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import type { Ordered } from '../../feeds/order.ts';
import type { Owner } from '../../privileges.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Archive, ArchivedFeed, ArchivedNote } from '../archive.ts';
import { KeyedLock } from '../keyed-lock.ts';
import { NO_META, otherSettings } from '../metadata.ts';
import type { OperatorRecord } from '../operator-records.ts';
import { DurableWriter, fileTime, lineFile } from './durable.ts';
import { isForbidden } from './failures.ts';
import { FeedIndex } from './feed-index.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { readRetired, retiredFile } from './line-files.ts';
import {
  isFeedFile,
  isIntentName,
  isLeftover,
  MARKS_FILE,
  MOVE_FILE,
  noteOfMetaFile,
  RETIRED_FILE,
  SETTINGS_FILE,
} from './names.ts';
import type { Entry } from './note-list.ts';
import { readLine, readWhole } from './read-file.ts';
import { readMetaFile, readSettingsFile, UNREADABLE_READ_ID } from './read-metadata.ts';
import { RecordFiles } from './record-files.ts';
import { RECORD_FILES } from './record-lines.ts';
import { feedNames, scanAll } from './scan.ts';
import type { FolderSecret } from './secret.ts';
import { dateOfFile } from './stamp.ts';
import { READ } from './syscalls.ts';
import { feedParts, noteParts } from './written-files.ts';

/** The largest note that is moved: every database takes it, and so does the memory. */
const MAX_NOTE_BYTES = 256 * 1024 * 1024;

/** For a folder in which no read id is derived. */
export const NO_SECRET = { key: new Uint8Array(), derivation: 'own' } as const;

/** Folders that an error names at most. */
const MAX_NAMED = 10;

export interface FilesArchiveOptions {
  readonly dir: string;
  /** Who owns the files and folders made; the process's own user when absent. */
  readonly owner: Owner | undefined;
  /** Asked for where read ids follow from the secret. */
  readonly secret: () => Promise<Pick<FolderSecret, 'key' | 'derivation'>>;
  /** Take feeds that have the `.readid` of another one with the read ids that they have now. */
  readonly acceptReadIds?: boolean;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

interface ArchiveParts {
  readonly dir: string;
  readonly index: FeedIndex;
  readonly writer: DurableWriter;
}

/** The instance in a data folder. */
export class FilesArchive implements Archive {
  readonly #dir: string;
  readonly #writer: DurableWriter;
  readonly #index: FeedIndex;
  readonly #retired: Set<ReadId>;
  readonly #records: RecordFiles;

  private constructor(
    { dir, index, writer }: ArchiveParts,
    retired: readonly ReadId[],
    records: RecordFiles,
  ) {
    this.#dir = dir;
    this.#writer = writer;
    this.#index = index;
    this.#retired = new Set(retired);
    this.#records = records;
  }

  /**
   * Reads everything but the bytes of notes, and cleans up after a crash, as the start of the service does. Throws an error
   * with a sentence for the operator if a part cannot be read or removed.
   */
  static async open(options: FilesArchiveOptions): Promise<FilesArchive> {
    const { dir, owner, log } = options;
    await mustBeReadable(dir);
    const feeds = await scanAll(dir, () => {}, log);
    if (feeds.length < (await feedNames(dir)).length) throw notOurs();
    refuseUnreadable(feeds.filter(({ files }) => files.storedReadId === UNREADABLE_READ_ID));
    // Settings that the service leaves as they are would be lost.
    for (const { name } of feeds) await readSettingsFile(join(dir, name));
    const { key, derivation } = haveOwnReadIds(feeds) ? NO_SECRET : await options.secret();
    const index = new FeedIndex(key, derivation);
    index.addAll(feeds);
    if (!options.acceptReadIds) refuseWaiting(index.waiting());
    const retired = (await readRetired(dir)).split('\n').filter(isReadId);
    const free = retired.filter((readId) => !index.anyByReadId(readId));
    const parts = { dir, index, writer: new DurableWriter(dir, owner) };
    const records = new RecordFiles({ ...parts, locks: new KeyedLock(), log });
    await records.load();
    return new FilesArchive(parts, free, records);
  }

  async *feeds(): AsyncIterable<ArchivedFeed> {
    for (const name of this.#index.names().sort()) yield this.#index.get(name)!.record();
  }

  async *notes(name: FeedName, after?: Ordered): AsyncIterable<ArchivedNote> {
    for (const entry of inArchive(this.#index.get(name)))
      if (!after || inOrder(entry, after) > 0) yield this.#note(name, entry);
  }

  async *retiredReadIds(): AsyncIterable<ReadId> {
    yield* [...this.#retired].sort();
  }

  async *records(): AsyncIterable<OperatorRecord> {
    yield* this.#records.all();
  }

  /**
   * What is no feed, and everything in the folder of a feed that is no note and says nothing of one. Not the folder, because the
   * name of a feed is a key.
   */
  async strays(): Promise<readonly string[]> {
    const names: string[] = [];
    for (const entry of await readdir(this.#dir, { withFileTypes: true })) {
      if (entry.isDirectory() && isFeedName(entry.name))
        names.push(...(await straysOfFeed(join(this.#dir, entry.name))));
      else if (!(entry.isFile() && entry.name.startsWith('.')) && !isLeftover(entry.name))
        names.push(entry.name);
    }
    return names;
  }

  mark(): Promise<string | undefined> {
    return readLine(join(this.#dir, MOVE_FILE));
  }

  async begin(mark: string | undefined): Promise<void> {
    await this.#writer.change(this.#dir, [lineFile(MOVE_FILE, mark)]);
  }

  async addFeed(feed: ArchivedFeed): Promise<Ordered | undefined> {
    const known = this.#index.get(feed.name);
    const { name, readId, passwordHash, license, ...settings } = feed;
    const files = { storedReadId: readId, settings, passwordHash, license };
    if (!known) await this.#writer.placeFolder(this.#dir, name, feedParts(files));
    this.#date(feed);
    return inArchive(known).at(-1);
  }

  async addNotes(feed: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void> {
    await this.#writer.change(join(this.#dir, feed.name), [], notes.flatMap(noteParts));
    this.#date(feed);
  }

  async addRetiredReadIds(readIds: readonly ReadId[]): Promise<void> {
    for (const readId of readIds) this.#retired.add(readId);
    await this.#writer.change(this.#dir, [retiredFile(this.#retired)]);
  }

  addRecords(records: readonly OperatorRecord[]): Promise<void> {
    return this.#records.addAll(records);
  }

  end(): Promise<void> {
    return this.begin(undefined);
  }

  async close(): Promise<void> {}

  async #note(name: FeedName, { id, type, createdAt, file, meta }: Entry): Promise<ArchivedNote> {
    const folder = join(this.#dir, name);
    const found = await readWhole(join(folder, file), MAX_NOTE_BYTES);
    if (!found) {
      throw new Error(
        `The note ${JSON.stringify(file)} cannot be moved: it is gone, cannot be read or is larger than 256 MiB.`,
      );
    }
    const { meta: texts, others } = (meta && (await readMetaFile(folder, file))) ?? NO_META;
    const { bytes, stamp } = found;
    return { id, type, createdAt, modifiedAt: dateOfFile(stamp), meta: texts, others, bytes };
  }

  /** The time of a feed's last change is that of its folder when the service starts. */
  #date({ name, changedAt }: ArchivedFeed): void {
    utimesSync(join(this.#dir, name), new Date(), fileTime(changedAt));
  }
}

/** Each has a `.readid` that no other has: nothing follows from the secret. */
function haveOwnReadIds(feeds: readonly IndexedFeed[]): boolean {
  const readIds = new Set(feeds.map(({ files }) => files.storedReadId));
  return readIds.size === feeds.length && !readIds.has(undefined);
}

function inArchive(feed: IndexedFeed | undefined): Entry[] {
  return feed?.notes.older(undefined, feed.notes.size).sort(inOrder) ?? [];
}

/** The order of `Archive.notes`. */
function inOrder(a: Ordered, b: Ordered): number {
  return (
    a.createdAt - b.createdAt ||
    Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)) ||
    NOTE_TYPES.indexOf(a.type) - NOTE_TYPES.indexOf(b.type)
  );
}

/**
 * Throws an error with a sentence for the operator if this process may not read the dot files of a data folder: the service
 * takes those for absent, and a move would lose them. Does not check the bytes of notes.
 */
async function mustBeReadable(dir: string): Promise<void> {
  try {
    for (const name of [RETIRED_FILE, MOVE_FILE, ...RECORD_FILES]) mustOpen(join(dir, name));
    for (const feed of await feedNames(dir)) {
      const folder = join(dir, feed);
      for (const name of readdirSync(folder))
        if (isFeedFile(name) || isIntentName(name) || noteOfMetaFile(name)) mustOpen(join(folder, name));
    }
  } catch (error) {
    throw isForbidden(error) ? notOurs() : error;
  }
}

function refuseUnreadable(feeds: readonly IndexedFeed[]): void {
  if (feeds.length === 0) return;
  throw new Error(
    `Folders there have a .readid that cannot be read or holds no read id: ${listed(feeds.map(({ name }) => name))}. Put the ` +
      'right one into each, or remove the file.',
  );
}

function refuseWaiting(waiting: ReturnType<FeedIndex['waiting']>): void {
  if (waiting.length === 0) return;
  const named = listed(waiting.map(([name, holder]) => `${name} (as ${holder})`));
  throw new Error(
    `Folders there have the .readid of another one, whose name sorts first and which has the read link: ${named}. ` +
      'Put another read id into that of each copy, or remove the file; or add --accept-read-ids to move the read links as ' +
      'they are.',
  );
}

/** Names folders, because the operator must choose among them and cannot find them by anything else. */
function listed(folders: readonly string[]): string {
  const more = folders.length - MAX_NAMED;
  return folders.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Names no file, because the name of a feed is a key. */
function notOurs(): Error {
  return new Error(
    'Some of the files there cannot be read or changed by this user: run the move as their owner.',
  );
}

function mustOpen(path: string): void {
  try {
    closeSync(openSync(path, READ));
  } catch (error) {
    if (isForbidden(error)) throw error;
  }
}

async function straysOfFeed(folder: string): Promise<string[]> {
  const all = await readdir(folder, { withFileTypes: true });
  const notes = new Set(all.filter(isNote).map(({ name }) => name));
  const belongs = (entry: Dirent) => {
    const note = noteOfMetaFile(entry.name);
    return (
      isNote(entry) ||
      isFeedFile(entry.name) ||
      entry.name === MARKS_FILE ||
      (note !== undefined && notes.has(note))
    );
  };
  const settings = otherSettings((await readSettingsFile(folder)) ?? {});
  return [
    ...all.filter((entry) => !belongs(entry)).map(({ name }) => name),
    ...Object.keys(settings ?? {}).map((member) => `${member} in ${SETTINGS_FILE}`),
  ];
}

function isNote(entry: Dirent): boolean {
  return entry.isFile() && parseNoteFile(entry.name) !== undefined;
}
