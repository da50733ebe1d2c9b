import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32, inflateRaw, inflateRawSync } from 'node:zlib';
import { type Entry, fromRandomAccessReader, getFileNameLowLevel, RandomAccessReader } from 'yauzl';
import { parseNoteFile } from '../feeds/names.ts';
import { FORBIDDEN, shownOneLine } from '../feeds/text.ts';
import { Refusal } from '../refusals.ts';
import { asRefusal, refuse } from '../storage/files/failures.ts';
import { metaFile, noteOfMetaFile, SETTINGS_FILE } from '../storage/files/names.ts';

/** The most files of a zip: each takes about 100 bytes of memory. */
const MAX_FILES = 1_000_000;
/** All files of a zip together when they are inflated, bytes. */
const MAX_INFLATED_BYTES = 8 * 1024 ** 3;
/** The longest name of a file that every file system takes, bytes. */
const MAX_NAME_BYTES = 255;
/** How much of a name a refusal repeats, in UTF-16 units. */
const SHOWN_LENGTH = 300;
/** Bytes of the zip that are read at once: files of notes are mostly shorter, and beside each other. */
const WINDOW_BYTES = 64 * 1024;
const LOCAL_HEADER = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
const [STORED, DEFLATED] = [0, 8];
const ENCRYPTED = 1;
/** Types of files on Unix, in the upper half of the external attributes. */
const [FILE_TYPE, REGULAR] = [0o170000, 0o100000];
/** Archives made on a Mac have a second tree with what other systems do not know, and how a folder is shown. */
const [MAC_TREE, MAC_FILE] = ['__MACOSX/', '.DS_Store'];
/** This bit of the flags says that the name is in UTF-8. */
const UTF8_NAME = 0x800;
/** The upper half of `versionMadeBy` names the system that made the zip. Programs on this one may separate folders with backslashes. */
const WINDOWS = 0;
/** Shorter files are inflated at once, because a task for the thread pool takes longer, bytes. */
const INLINE_BYTES = 128 * 1024;

/** A longer part of a text would keep the whole one in memory, bytes. */
const HASH_LENGTH = 12;

const inflate = promisify(inflateRaw);

/** Where the bytes of a file are. */
type Place = Pick<
  Entry,
  'relativeOffsetOfLocalHeader' | 'compressedSize' | 'uncompressedSize' | 'compressionMethod' | 'crc32'
>;

/** A file of the zip whose name is right. */
export interface ZippedFile {
  /** Without the folder that all files are in. */
  readonly name: string;
  /** By the zip, ms since the epoch. */
  readonly modifiedAt: number;
  /** As the zip says; more are never read. */
  readonly size: number;
  /**
   * Reads the bytes, into memory of that size if it is given.
   * @throws Refusal `too_large` for more bytes than the limit; `invalid_body` for bytes that are damaged; `store_unavailable`
   */
  read(limit: number, memory?: Uint8Array): Promise<Uint8Array>;
  /** The bytes of its metadata file; undefined if there is none. */
  readMeta(limit: number): Promise<Uint8Array | undefined>;
}

/** A file that is not taken. */
interface RefusedFile {
  readonly name: string;
  readonly refusal: Refusal;
}

/**
 * A zip of a feed's folder, or of the files in it, that nobody trusts. No name of it leads to a file of this system, and
 * nothing is inflated beyond its limit.
 */
export class FeedZip {
  readonly #handle: FileHandle;
  readonly #size: number;
  readonly #window: ZipReader;
  /** By a hash of the name: the place of a metadata file, true for another file, false if two files have the name. */
  readonly #files: ReadonlyMap<string, Place | boolean>;
  /** The folder that all files are in, with its slash; empty if there is none. */
  readonly #folder: string;

  private constructor(
    handle: FileHandle,
    size: number,
    files: ReadonlyMap<string, Place | boolean>,
    folder: string,
  ) {
    this.#handle = handle;
    this.#size = size;
    this.#window = new ZipReader(handle, size);
    this.#files = files;
    this.#folder = folder;
  }

  /**
   * Reads the whole directory of the zip in a file.
   * @throws Refusal `invalid_body` for a broken zip, `too_large` for too many files or bytes; `store_unavailable`
   */
  static async open(handle: FileHandle): Promise<FeedZip> {
    const { size } = await handle.stat().catch(refuse);
    const files = new Map<string, Place | boolean>();
    let [count, packed, inflated] = [0, 0, 0];
    let folder: string | undefined;
    for await (const entry of entriesOf(handle, size)) {
      count += 1;
      packed += entry.compressedSize;
      inflated += entry.uncompressedSize;
      if (count > MAX_FILES) throw tooLarge(`${MAX_FILES} files`);
      if (inflated > MAX_INFLATED_BYTES) throw tooLarge(`${MAX_INFLATED_BYTES} bytes when it is unpacked`);
      // Files that share bytes make a small zip a large folder.
      if (packed > size) throw broken();
      const name = nameOf(entry);
      const own = /^(?!\.{1,2}\/)[^/\\]+\//.exec(name)?.[0] ?? '';
      if (!name.startsWith(MAC_TREE)) folder = folder === undefined || folder === own ? own : '';
      const key = hashOf(name);
      const isMeta = name.endsWith('.json');
      files.set(key, !files.has(key) && (!isMeta || placeOf(entry)));
    }
    return new FeedZip(handle, size, files, folder ?? '');
  }

  /** The notes, and the settings if they are there; metadata files come with their notes. All others are refused. */
  async *files(): AsyncGenerator<ZippedFile | RefusedFile> {
    for await (const entry of entriesOf(this.#handle, this.#size)) {
      const path = nameOf(entry);
      if (path === this.#folder && entry.uncompressedSize === 0) continue;
      const name = (path.startsWith(this.#folder) && path.slice(this.#folder.length)) || path;
      if (path.startsWith(MAC_TREE) || name === MAC_FILE) continue;
      const refusal = this.#refusalOf(entry, path, name);
      if (refusal !== undefined) {
        yield { name: shownOneLine(name).slice(0, SHOWN_LENGTH).toWellFormed(), refusal };
        continue;
      }
      const note = parseNoteFile(name);
      if (note === undefined && name !== SETTINGS_FILE) continue;
      const place = placeOf(entry);
      const meta = note && this.#files.get(hashOf(this.#folder + metaFile(note.file)));
      yield {
        name,
        modifiedAt: Math.min(entry.getLastModDate({ timezone: 'UTC' }).getTime() || 0, Date.now()),
        size: place.uncompressedSize,
        read: (limit, memory) => this.#read(place, limit, memory),
        readMeta: async (limit) => {
          if (meta === undefined) return undefined;
          if (typeof meta === 'boolean') throw invalid('The zip has two metadata files of this note.');
          return this.#read(meta, limit);
        },
      };
    }
  }

  #refusalOf(entry: Entry, path: string, name: string): Refusal | undefined {
    const note = noteOfMetaFile(name);
    if (
      path.includes('\\') ||
      FORBIDDEN.test(path) ||
      (!parseNoteFile(name) && note === undefined && name !== SETTINGS_FILE)
    )
      return invalid(
        'A zip of a feed holds its notes (<id>.md, .png, .jpg, .gif, .webp), their metadata files and .feed.json, in one folder at most.',
      );
    if (Buffer.byteLength(note === undefined ? metaFile(name as never) : name) > MAX_NAME_BYTES)
      return invalid('The name is too long.');
    if (isSpecial(entry)) return invalid('It is no file but a link, a folder or a device.');
    if (this.#files.get(hashOf(path)) === false) return invalid('The zip has two files of this name.');
    if (entry.generalPurposeBitFlag & ENCRYPTED) return invalid('It is encrypted.');
    if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED)
      return invalid('It must be stored as it is, or compressed by deflate.');
    if (note !== undefined && !this.#files.has(hashOf(this.#folder + note)))
      return invalid('The zip has no note that this is the metadata file of.');
    return undefined;
  }

  async #read(place: Place, limit: number, memory?: Uint8Array): Promise<Uint8Array> {
    const { compressedSize: packedSize, uncompressedSize: size, compressionMethod } = place;
    if (size > limit) throw new Refusal('too_large', `It may have at most ${limit} bytes.`);
    // Deflate adds 5 bytes to each 16 KB that it cannot make shorter.
    if (packedSize > size + size / 1_000 + 1_000) throw damaged();
    const header = await this.#window.bytes(place.relativeOffsetOfLocalHeader, LOCAL_HEADER_BYTES);
    if (header.readUInt32LE(0) !== LOCAL_HEADER) throw damaged();
    const names = header.readUInt16LE(26) + header.readUInt16LE(28);
    const start = place.relativeOffsetOfLocalHeader + LOCAL_HEADER_BYTES + names;
    const isStored = compressionMethod === STORED;
    if (isStored && packedSize !== size) throw damaged();
    const packed = await this.#window.bytes(start, packedSize, isStored ? memory : undefined);
    const bytes = isStored ? packed : await inflated(packed, size);
    if (bytes.length !== size || crc32(bytes) !== place.crc32) throw damaged();
    if (memory === undefined || isStored) return bytes;
    memory.set(bytes);
    return memory;
  }
}

/** Ends, with an error, beyond the size that the zip declares. */
async function inflated(packed: Uint8Array, size: number): Promise<Uint8Array> {
  const options = {
    maxOutputLength: Math.max(size, 1),
    chunkSize: Math.max(64, Math.min(size + 1, INLINE_BYTES)),
  };
  try {
    return size <= INLINE_BYTES ? inflateRawSync(packed, options) : await inflate(packed, options);
  } catch (cause) {
    throw damaged(cause);
  }
}

async function* entriesOf(handle: FileHandle, size: number): AsyncGenerator<Entry> {
  const reader = new ZipReader(handle, size);
  const options = { lazyEntries: true, decodeStrings: false, validateEntrySizes: false, autoClose: false };
  try {
    const zip = await new Promise<{ eachEntry(): AsyncIterable<Entry> }>((resolve, reject) => {
      fromRandomAccessReader(reader, size, options, (error, zip) => (error ? reject(error) : resolve(zip)));
    });
    yield* zip.eachEntry();
  } catch (cause) {
    throw reader.failure ?? broken(cause);
  }
}

/** Reads a file in larger parts than it is asked for, which the library does with each header. */
class ZipReader extends RandomAccessReader {
  /** What the error of the disk means, if a read failed. */
  failure: unknown;
  readonly #handle: FileHandle;
  readonly #size: number;
  /** Used again, because dropped buffers are collected late. */
  readonly #memory = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #window: Buffer = this.#memory.subarray(0, 0);
  #start = 0;

  constructor(handle: FileHandle, size: number) {
    super();
    this.#handle = handle;
    this.#size = size;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const copy = (bytes: Buffer) => {
      bytes.copy(buffer, offset);
      callback(null);
    };
    if (this.#has(position, length)) copy(this.#part(position, length));
    else this.bytes(position, length).then(copy, callback);
  }

  /** Bytes of the file, in the given memory or else in memory of their own. Throws a Refusal `invalid_body` beyond its end. */
  async bytes<B extends Uint8Array = Buffer>(
    position: number,
    length: number,
    memory?: B,
  ): Promise<B | Buffer> {
    if (position + length > this.#size) throw damaged();
    if (length > WINDOW_BYTES) return this.#readAt(position, memory ?? Buffer.allocUnsafeSlow(length));
    if (!this.#has(position, length)) {
      const size = Math.min(WINDOW_BYTES, this.#size - position);
      this.#window = this.#window.subarray(0, 0);
      this.#window = await this.#readAt(position, this.#memory.subarray(0, size));
      this.#start = position;
    }
    if (memory === undefined) return Buffer.from(this.#part(position, length));
    memory.set(this.#part(position, length));
    return memory;
  }

  override close(callback: (error: Error | null) => void): void {
    callback(null);
  }

  #has(position: number, length: number): boolean {
    return position >= this.#start && position + length <= this.#start + this.#window.length;
  }

  #part(position: number, length: number): Buffer {
    return this.#window.subarray(position - this.#start, position - this.#start + length);
  }

  async #readAt<B extends Uint8Array>(position: number, buffer: B): Promise<B> {
    try {
      for (let at = 0; at < buffer.length; ) {
        const { bytesRead } = await this.#handle.read(buffer, at, buffer.length - at, position + at);
        if (bytesRead === 0) throw new Error('the temporary file is shorter than it was');
        at += bytesRead;
      }
    } catch (error) {
      this.failure = asRefusal(error);
      throw this.failure;
    }
    return buffer;
  }
}

function nameOf({ generalPurposeBitFlag, versionMadeBy, fileNameRaw, extraFields }: Entry): string {
  // A Mac writes UTF-8 and does not say so. Names of older systems are hardly ever UTF-8 by chance.
  const flags = generalPurposeBitFlag | (isUtf8(fileNameRaw) ? UTF8_NAME : 0);
  return getFileNameLowLevel(flags, fileNameRaw, extraFields, versionMadeBy >>> 8 !== WINDOWS);
}

/** Short, because there may be a million of them. */
function hashOf(name: string): string {
  return hash('sha256', name, 'binary').slice(0, HASH_LENGTH);
}

function placeOf(entry: Entry): Place {
  const { relativeOffsetOfLocalHeader, compressedSize, uncompressedSize, compressionMethod, crc32 } = entry;
  return { relativeOffsetOfLocalHeader, compressedSize, uncompressedSize, compressionMethod, crc32 };
}

/** Programs on other systems than Unix say no type. */
function isSpecial({ externalFileAttributes }: Entry): boolean {
  const type = (externalFileAttributes >>> 16) & FILE_TYPE;
  return type !== 0 && type !== REGULAR;
}

function invalid(sentence: string): Refusal {
  return new Refusal('invalid_body', sentence);
}

function damaged(cause?: unknown): Refusal {
  return new Refusal('invalid_body', 'Its bytes are not what the zip says they are.', { cause });
}

function broken(cause?: unknown): Refusal {
  return new Refusal('invalid_body', 'The body is no zip, or a part of it is missing.', { cause });
}

function tooLarge(limit: string): Refusal {
  return new Refusal('too_large', `A zip may have at most ${limit}.`);
}
