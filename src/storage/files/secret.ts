import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Owner } from '../../privileges.ts';
import { errorCode } from './failures.ts';
import { syncFolder } from './folder-sync.ts';
import { SECRET_FILE, tempName } from './names.ts';
import { CREATE } from './syscalls.ts';

const MIN_BYTES = 32;

/**
 * The server secret of a data folder: the text of its `.secret` file without surrounding white space, as bytes.
 * Makes the file (mode 0600, 32 random bytes as base64url) when there is none. Throws an error with a sentence
 * for the operator when the text is shorter than 32 bytes.
 */
export async function loadSecret(dir: string, owner?: Owner): Promise<Uint8Array> {
  return secretIn((await readText(dir)) ?? (await makeSecret(dir, owner)));
}

/** As `loadSecret`, but undefined if there is no such file. */
export async function readSecret(dir: string): Promise<Uint8Array | undefined> {
  const text = await readText(dir);
  return text === undefined ? undefined : secretIn(text);
}

function secretIn(text: string): Uint8Array {
  const secret = Buffer.from(text.trim());
  if (secret.byteLength < MIN_BYTES) {
    throw new Error(
      `The file ${SECRET_FILE} in DATA_DIR is shorter than ${MIN_BYTES} bytes; put back the right one or remove it.`,
    );
  }
  return secret;
}

/**
 * The secret from which the read ids of a data folder were derived. Throws an error with a sentence for the operator if
 * `.secret` and SERVICE_SECRET disagree.
 */
export async function secretOfFolder(dir: string, set: Uint8Array | undefined): Promise<Uint8Array> {
  const kept = await readText(dir);
  if (kept === undefined && set !== undefined) return set;
  if (kept === undefined) {
    throw new Error(
      `Some feeds there have a read id that follows from the secret, and there is no file ${SECRET_FILE}: set ` +
        'SERVICE_SECRET as it was set for the service.',
    );
  }
  if (set !== undefined && !Buffer.from(kept.trim()).equals(set)) {
    throw new Error(
      `Some feeds there have a read id that follows from the secret, and SERVICE_SECRET is another one than the file ` +
        `${SECRET_FILE} has: unset SERVICE_SECRET, or, where the service ran with it, remove that file.`,
    );
  }
  return loadSecret(dir);
}

async function readText(dir: string): Promise<string | undefined> {
  try {
    return await readFile(join(dir, SECRET_FILE), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeSecret(dir: string, owner: Owner | undefined): Promise<string> {
  const temp = join(dir, tempName());
  const file = await open(temp, CREATE, 0o600);
  try {
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.writeFile(`${randomBytes(MIN_BYTES).toString('base64url')}\n`);
    await file.sync();
    await publish(temp, join(dir, SECRET_FILE));
    await syncFolder(dir);
  } finally {
    await file.close();
    await unlink(temp).catch(() => undefined);
  }
  const made = await readText(dir);
  if (made === undefined) throw new Error(`The file ${SECRET_FILE} in DATA_DIR vanished while it was made.`);
  return made;
}

/** A link never replaces what another process made meanwhile; a rename is for file systems without links. */
async function publish(temp: string, path: string): Promise<void> {
  try {
    await link(temp, path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return;
    await rename(temp, path);
  }
}
