import { lstatSync, type Stats } from 'node:fs';
import { MAX_METADATA_BYTES } from '../metadata.ts';
import { FileReplaced } from '../stored-file.ts';
import { asRefusal, isAbsent, isGone, refuse, unavailable } from './failures.ts';
import type { Stamp } from './stamp.ts';
import * as sys from './syscalls.ts';

const MAX_ATTEMPTS = 3;
const PIECE_BYTES = 64 * 1024;

interface WholeFile {
  readonly bytes: Uint8Array;
  readonly stamp: Stamp;
}

/**
 * All bytes of a regular file, as they were at one moment; undefined when there is none, or a link, or no
 * permission, or more than `maxBytes`. Throws `store_unavailable` when the disk fails.
 */
export async function readWhole(
  path: string,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<WholeFile | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const file = await openFile(path);
    if (!file) return undefined;
    try {
      if (file.stats.size > maxBytes) return undefined;
      const read = await readAll(file.fd, file.stats);
      if (read.whole || attempt === MAX_ATTEMPTS) return read;
    } catch (error) {
      throw asRefusal(error);
    } finally {
      sys.close(file.fd);
    }
  }
}

/** Why `readWhole` did not read what is there, in words for people; undefined if nothing is there. */
export async function whyUnreadable(path: string, maxBytes: number): Promise<string | undefined> {
  const stats = await statAny(path);
  if (!stats) return undefined;
  if (!stats.isFile()) return 'it is not a file';
  return stats.size > maxBytes ? `it is larger than ${maxBytes} bytes` : 'the service has no permission';
}

/** The text of a dot file; undefined when it is absent, or too large to be written by the service. */
export async function readDotFile(path: string): Promise<{ text: string; stamp: Stamp } | undefined> {
  const file = await readWhole(path, MAX_METADATA_BYTES);
  return file && { text: new TextDecoder().decode(file.bytes), stamp: file.stamp };
}

/** The text of a dot file without the white space around it; undefined as of `readDotFile`. */
export async function readLine(path: string): Promise<string | undefined> {
  return (await readDotFile(path))?.text.trim();
}

/** `lstat` of a regular file; undefined if there is none. */
export async function statFile(path: string): Promise<Stats | undefined> {
  const stats = await statAny(path);
  return stats?.isFile() ? stats : undefined;
}

/** Whether the path exists. Throws the system's error if that is unknown. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await sys.lstat(path);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/**
 * To be called where files of a feed are not found: they are not gone if all of the data folder is, as of a disk that is not
 * mounted. Throws `store_unavailable` then.
 */
export async function mustHaveDataFolder(dataDir: string): Promise<void> {
  await sys.lstat(dataDir).catch(refuse);
}

/** Looks again for what is not there, once the data folder is known to be there. Throws as `mustHaveDataFolder`. */
export async function findAgain<T>(dataDir: string, look: () => Promise<T>): Promise<T> {
  const found = await look();
  if (found !== undefined) return found;
  await mustHaveDataFolder(dataDir);
  return look();
}

/** As `findAgain`, at once. Throws the system's error. */
export function findAgainSync<T>(dataDir: string, look: () => T | undefined): T | undefined {
  const found = look();
  if (found !== undefined) return found;
  lstatSync(dataDir);
  return look();
}

/** Whether a folder is there; a link to one is not. */
export async function isFolder(path: string): Promise<boolean> {
  return (await statAny(path))?.isDirectory() ?? false;
}

async function statAny(path: string): Promise<Stats | undefined> {
  try {
    return await sys.lstat(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw asRefusal(error);
  }
}

/** A file open for reading. */
interface Opened {
  readonly fd: number;
  readonly stats: Stats;
}

/** Opens a regular file for reading; undefined when there is none. The caller closes the descriptor. */
async function openFile(path: string): Promise<Opened | undefined> {
  let fd: number | undefined;
  try {
    fd = await sys.open(path, sys.READ);
    const stats = sys.fstat(fd);
    if (stats.isFile()) return { fd, stats };
    sys.close(fd);
    return undefined;
  } catch (error) {
    if (fd !== undefined) sys.close(fd);
    if (isAbsent(error)) return undefined;
    throw asRefusal(error);
  }
}

/** `whole` is false when the file changed while it was read. */
async function readAll(fd: number, before: Stats): Promise<WholeFile & { whole: boolean }> {
  // One byte more than expected shows in the same call that the file has not grown.
  const buffer = Buffer.allocUnsafeSlow(before.size + 1);
  // One call, because a regular file gives less than it was asked for only at its end.
  const count = await sys.read(fd, buffer, 0);
  const after = sys.fstat(fd);
  return {
    bytes: buffer.subarray(0, count),
    stamp: { mtimeMs: after.mtimeMs, size: after.size },
    whole: count === before.size && after.size === before.size && after.mtimeMs === before.mtimeMs,
  };
}

/** The state of a regular file that can be opened; undefined when there is none. */
export async function statReadable(path: string): Promise<Stats | undefined> {
  const file = await openFile(path);
  if (file) sys.close(file.fd);
  return file?.stats;
}

/**
 * Bytes of a file from `start` to `end`, of one state even if it is replaced or deleted meanwhile.
 * @throws `FileReplaced` if `isMeant` says so of the state that is there; `store_unavailable` when the disk fails, or when
 * the file is cut short by hand meanwhile
 */
export async function* readPart(
  path: string,
  start: number,
  end: number,
  isMeant: (stats: Stats) => boolean,
): AsyncIterable<Uint8Array> {
  const file = await openFile(path);
  if (!file) throw new FileReplaced();
  try {
    if (!isMeant(file.stats)) throw new FileReplaced();
    let position = start;
    while (position < end) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, end - position));
      const count = await sys.read(file.fd, piece, position).catch(refuse);
      if (count === 0) throw unavailable(new Error('the file became shorter while it was read'));
      yield piece.subarray(0, count);
      position += count;
    }
  } finally {
    sys.close(file.fd);
  }
}
