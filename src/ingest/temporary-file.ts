import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asRefusal, refuse } from '../storage/files/failures.ts';
import { tempName } from '../storage/files/names.ts';

/** `O_TMPFILE` of Linux, which Node does not name: the file has no name from the start (open(2)). */
const UNNAMED = 0o20000000 | constants.O_DIRECTORY | constants.O_RDWR;

/**
 * Writes pieces to a file without a name, so that it is gone with the process. It is in that folder, or else where the system has
 * its temporary files. The caller closes it.
 * @throws Refusal `storage_full`, `store_unavailable`; the errors of the pieces
 */
export async function temporaryFile(folder: string, pieces: AsyncIterable<Uint8Array>): Promise<FileHandle> {
  const file = await nameless(folder).catch(() => nameless(tmpdir()).catch(refuse));
  try {
    for await (const piece of pieces) await file.appendFile(piece);
    return file;
  } catch (cause) {
    await file.close();
    throw asRefusal(cause);
  }
}

/** A file without a name, so that a kill leaves none behind. If the file system cannot make one, a file loses its name at once. */
async function nameless(folder: string): Promise<FileHandle> {
  return open(folder, UNNAMED, 0o600).catch(async () => {
    const path = join(folder, tempName());
    const file = await open(path, 'wx+', 0o600);
    await unlink(path);
    return file;
  });
}
