import { crc32 } from 'node:zlib';

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const END = 0x06054b50;

/** Of the format: 4.5 is the first that has Zip64. */
const VERSION = 45;
const MADE_ON_UNIX = (3 << 8) | VERSION;
/** A regular file that its owner may write, and everybody read. */
const FILE_MODE = 0o100644 * 0x10000;
const NAME_IS_UTF8 = 0x0800;
const EXTENDED_TIME = 0x5455;
const ZIP64 = 0x0001;
const MAX_16 = 0xffff;
const MAX_32 = 0xffffffff;
const DIRECTORY_PART_BYTES = 64 * 1024;

/**
 * Makes the bytes of a zip whose files are stored as they are (APPNOTE.TXT 6.3.10), in any order and without end. Keeps 55 bytes
 * and the name of each file: the libraries yazl and client-zip keep 1 KB.
 */
export class ZipWriter {
  /** Bytes so far. */
  #size = 0;
  #files = 0;
  #directorySize = 0;
  /** The central directory, in buffers that are full but the last. */
  readonly #directory: Buffer[] = [];
  #room = 0;

  /** What precedes the bytes of a file, which must be of this size, below 4 GiB, and of this CRC. */
  begin(name: string, modifiedAt: number, { size, crc }: { size: number; crc: number }): Buffer {
    if (size >= MAX_32) throw new RangeError('a file of 4 GiB is too large for this zip');
    const bytes = Buffer.from(name);
    const extra = extendedTime(modifiedAt);
    const common = zeros(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(NAME_IS_UTF8, 2);
    common.writeUInt32LE(dosTime(modifiedAt), 6);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(size, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(bytes.length, 22);
    common.writeUInt16LE(extra.length, 24);
    this.#list(bytes, common, extra);
    const header = Buffer.concat([uint32(LOCAL), common, bytes, extra]);
    this.#size += header.length + size;
    return header;
  }

  /** A whole file. */
  file(name: string, modifiedAt: number, bytes: Uint8Array): Uint8Array[] {
    return [this.begin(name, modifiedAt, { size: bytes.length, crc: crc32(bytes) }), bytes];
  }

  /** What follows the last file. */
  end(): Buffer[] {
    const [start, size, files] = [this.#size, this.#directorySize, this.#files];
    const end64 = zeros(56);
    end64.writeUInt32LE(END_64, 0);
    end64.writeBigUInt64LE(44n, 4);
    end64.writeUInt16LE(MADE_ON_UNIX, 12);
    end64.writeUInt16LE(VERSION, 14);
    end64.writeBigUInt64LE(BigInt(files), 24);
    end64.writeBigUInt64LE(BigInt(files), 32);
    end64.writeBigUInt64LE(BigInt(size), 40);
    end64.writeBigUInt64LE(BigInt(start), 48);
    const locator = zeros(20);
    locator.writeUInt32LE(LOCATOR_64, 0);
    locator.writeBigUInt64LE(BigInt(start + size), 8);
    locator.writeUInt32LE(1, 16);
    const end = zeros(22);
    end.writeUInt32LE(END, 0);
    end.writeUInt16LE(Math.min(files, MAX_16), 8);
    end.writeUInt16LE(Math.min(files, MAX_16), 10);
    end.writeUInt32LE(Math.min(size, MAX_32), 12);
    end.writeUInt32LE(Math.min(start, MAX_32), 16);
    const needs64 = files >= MAX_16 || start >= MAX_32 || size >= MAX_32;
    const last = this.#directory.pop()?.subarray(0, DIRECTORY_PART_BYTES - this.#room) ?? Buffer.alloc(0);
    return [...this.#directory, last, ...(needs64 ? [end64, locator] : []), end];
  }

  #list(name: Buffer, common: Buffer, extra: Buffer): void {
    const isFar = this.#size >= MAX_32;
    const far = zeros(isFar ? 12 : 0);
    if (isFar) {
      far.writeUInt16LE(ZIP64, 0);
      far.writeUInt16LE(8, 2);
      far.writeBigUInt64LE(BigInt(this.#size), 4);
    }
    const head = zeros(46);
    head.writeUInt32LE(CENTRAL, 0);
    head.writeUInt16LE(MADE_ON_UNIX, 4);
    common.copy(head, 6);
    head.writeUInt16LE(extra.length + far.length, 30);
    head.writeUInt32LE(FILE_MODE, 38);
    head.writeUInt32LE(Math.min(this.#size, MAX_32), 42);
    for (const part of [head, name, extra, far]) this.#keep(part);
    this.#files += 1;
  }

  #keep(part: Buffer): void {
    this.#directorySize += part.length;
    for (let at = 0; at < part.length; ) {
      if (this.#room === 0) {
        this.#directory.push(Buffer.allocUnsafeSlow(DIRECTORY_PART_BYTES));
        this.#room = DIRECTORY_PART_BYTES;
      }
      const copied = part.copy(this.#directory.at(-1)!, DIRECTORY_PART_BYTES - this.#room, at);
      at += copied;
      this.#room -= copied;
    }
  }
}

/** A buffer of zeros in the memory that Node shares between short buffers. */
function zeros(size: number): Buffer {
  return Buffer.allocUnsafe(size).fill(0);
}

function uint32(value: number): Buffer {
  const bytes = zeros(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** The extended timestamp, in seconds since the epoch, which Unix programs read. The MS-DOS time has no time zone. */
function extendedTime(ms: number): Buffer {
  const seconds = Math.floor(ms / 1000);
  if (seconds !== (seconds | 0)) return Buffer.alloc(0);
  const field = zeros(9);
  field.writeUInt16LE(EXTENDED_TIME, 0);
  field.writeUInt16LE(5, 2);
  field.writeUInt8(1, 4);
  field.writeInt32LE(seconds, 5);
  return field;
}

/** Date and time as MS-DOS has them, in UTC, from 1980 on. */
function dosTime(ms: number): number {
  const date = new Date(Math.min(Math.max(ms, Date.UTC(1980)), Date.UTC(2107)));
  const day = ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate();
  const time = (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1);
  return day * 0x10000 + time;
}
