import * as fs from 'node:fs';
import { promisify } from 'node:util';

/**
 * The calls the write and read paths need, on plain descriptors: `FileHandle` of `node:fs/promises` costs the
 * event loop about twice as much per call.
 */
export const open = promisify(fs.open);
/** Closes a file at once: as with `fstat`, a trip to the thread pool would take longer, because all bytes are synced already. */
export const close = fs.closeSync;
export const fstat = (fd: number): fs.Stats => fs.fstatSync(fd);
export const lstat = promisify<fs.PathLike, fs.Stats>(fs.lstat);
export const fdatasync = promisify(fs.fdatasync);
export const fsync = promisify(fs.fsync);
const readBytes = promisify(fs.read);

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_DIRECTORY } = fs.constants;

/** For reading: never through a link, and never waiting for the other end of a named pipe. */
export const READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
/** For writing a file that is not there yet. */
export const CREATE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
/** For writing at the end of a file, which may not be there yet. */
export const APPEND = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW;
export const FOLDER = O_RDONLY | O_DIRECTORY;

/** Reads into `into` from `position` of the file; returns how many bytes came, 0 at the end. */
export async function read(fd: number, into: Uint8Array, position: number): Promise<number> {
  return (await readBytes(fd, into, 0, into.byteLength, position)).bytesRead;
}
