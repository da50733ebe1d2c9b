import { isUtf8 } from 'node:buffer';
import {
  closeSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import { dateOfId } from '../../feeds/ids.ts';
import { type FeedName, type NoteFile, parseNoteFile } from '../../feeds/names.ts';
import { MAX_SEARCHED_BYTES } from '../../search/match.ts';
import {
  MAX_METADATA_BYTES,
  metaIn,
  NO_META,
  parseObject,
  type StoredMeta,
  withLowerTags,
} from '../metadata.ts';
import { noteVersion } from '../note-version.ts';
import type { ListedNote, NoteSource, SourceNote } from '../search/note-source.ts';
import { isAbsent } from './failures.ts';
import { feedsAmong, metaFile } from './names.ts';
import { findAgainSync } from './read-file.ts';
import { dateByFile } from './stamp.ts';
import { READ } from './syscalls.ts';

/** Names that come from the system in one call. */
const NAMES_AT_ONCE = 1_024;

/** The notes of a data folder, by the rules of `scan.ts` and `NoteReader`. What an unfinished change has written may be among them. */
export class FilesSource implements NoteSource {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  feeds(): FeedName[] {
    return feedsAmong(readdirSync(this.#dir, { withFileTypes: true }));
  }

  *list(feed: FeedName): Generator<ListedNote> {
    const folder = join(this.#dir, feed);
    const names = findAgainSync(this.#dir, () =>
      statsOf(folder)?.isDirectory()
        ? ifThere(() => opendirSync(folder, { bufferSize: NAMES_AT_ONCE }))
        : undefined,
    );
    if (!names) return;
    try {
      for (let one = names.readSync(); one; one = names.readSync()) {
        const note = parseNoteFile(one.name);
        const listed = note && findAgainSync(this.#dir, () => this.#listed(folder, note.file));
        if (listed) yield listed;
      }
    } finally {
      names.closeSync();
    }
  }

  read(feed: FeedName, file: NoteFile): SourceNote | undefined {
    return findAgainSync(this.#dir, () => this.#read(feed, file));
  }

  close(): void {}

  #read(feed: FeedName, file: NoteFile): SourceNote | undefined {
    const folder = join(this.#dir, feed);
    const listed = statsOf(folder)?.isDirectory() && this.#listed(folder, file);
    if (!listed) return undefined;
    const { meta } = metaOf(folder, file);
    if (!file.endsWith('.md')) return { ...listed, meta, content: undefined };
    const content = readStart(join(folder, file), MAX_SEARCHED_BYTES)?.bytes;
    return content && { ...listed, meta, content };
  }

  #listed(folder: string, file: NoteFile): ListedNote | undefined {
    const stats = statsOf(join(folder, file));
    if (!stats?.isFile()) return undefined;
    const found = statsOf(join(folder, metaFile(file)));
    const meta = found?.isFile() ? found : undefined;
    const { id } = parseNoteFile(file)!;
    const createdAt = dateOfId(id) ?? (meta && metaOf(folder, file).created) ?? dateByFile(id, stats);
    return { file, createdAt, version: noteVersion(stats.mtimeMs, stats.size, meta?.mtimeMs, meta?.size) };
  }
}

/** The metadata of a note; none if it cannot be read, as in the feed index, which logs that. */
function metaOf(folder: string, file: NoteFile): StoredMeta {
  const found = readStart(join(folder, metaFile(file)), MAX_METADATA_BYTES);
  if (!found || found.isCut || !isUtf8(found.bytes)) return NO_META;
  const fields = parseObject(new TextDecoder().decode(found.bytes));
  return fields ? withLowerTags(metaIn(fields)) : NO_META;
}

/** The first bytes of a regular file; undefined if there is none that may be read. */
function readStart(path: string, most: number): { bytes: Uint8Array; isCut: boolean } | undefined {
  const fd = ifThere(() => openSync(path, READ));
  if (fd === undefined) return undefined;
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return undefined;
    const bytes = Buffer.allocUnsafeSlow(Math.min(stats.size, most));
    return { bytes: bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)), isCut: stats.size > most };
  } finally {
    closeSync(fd);
  }
}

function statsOf(path: string): Stats | undefined {
  return ifThere(() => lstatSync(path, { throwIfNoEntry: false }));
}

function ifThere<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
