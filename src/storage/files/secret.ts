import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Derivation } from '../../feeds/ids.ts';
import type { Owner } from '../../privileges.ts';
import { errorCode } from './failures.ts';
import { syncFolder } from './folder-sync.ts';
import { SECRET_FILE, tempName } from './names.ts';
import { type FolderSecret, isMarkOf, readMark } from './secret-mark.ts';
import { CREATE } from './syscalls.ts';

const MIN_BYTES = 32;

/** What settings say of the secret. */
export interface SecretSettings {
  /** SERVICE_SECRET. */
  readonly secret?: Uint8Array | undefined;
  /** SERVICE_DERIVED_READ_IDS. */
  readonly derivedReadIds?: Derivation | undefined;
}

/**
 * The server secret that the settings name, else the one in `.secret`: a text without the white space around it, or raw bytes
 * (the reference writes 32). Makes the file (mode 0600, 32 random bytes as base64url) if it is needed and absent. Throws an
 * error with a sentence for the operator if it is shorter than 32 bytes.
 */
export async function loadSecret(
  dir: string,
  settings: SecretSettings = {},
  owner?: Owner,
): Promise<FolderSecret> {
  const kept = await readBytes(dir);
  const mark = await readMark(dir);
  const derivation = settings.derivedReadIds ?? mark?.derivation ?? derivationOf(kept);
  const key = settings.secret ?? keyIn(kept ?? (await makeSecret(dir, owner)), derivation);
  if (key.byteLength < MIN_BYTES) {
    throw new Error(
      `The file ${SECRET_FILE} in DATA_DIR is shorter than ${MIN_BYTES} bytes; put back the right one or remove it.`,
    );
  }
  const isOfFile = kept && Buffer.from(key).equals(keyIn(kept, derivation));
  return { key, derivation, mark, isKnown: mark ? isMarkOf(mark, { key, derivation }) : isOfFile };
}

/** As `loadSecret`, but undefined if the settings name none and there is no such file. */
export async function readSecret(dir: string, settings: SecretSettings): Promise<FolderSecret | undefined> {
  const isThere = settings.secret !== undefined || (await readBytes(dir)) !== undefined;
  return isThere ? loadSecret(dir, settings) : undefined;
}

/**
 * The secret from which the read ids of a data folder were derived. Throws an error with a sentence for the operator if
 * there is none, or the folder was used with another one.
 */
export async function secretOfFolder(dir: string, settings: SecretSettings): Promise<FolderSecret> {
  const secret = await readSecret(dir, settings);
  if (secret === undefined) {
    throw new Error(
      `Some feeds there have a read id that follows from the secret, and there is no file ${SECRET_FILE}: set ` +
        'SERVICE_SECRET as it was set for the service.',
    );
  }
  if (secret.isKnown !== false) return secret;
  const used = settings.secret ? 'SERVICE_SECRET' : `the file ${SECRET_FILE} there`;
  throw new Error(
    `Some feeds there have a read id that follows from the secret, and ${used} is another one than the service ran with: set ` +
      'SERVICE_SECRET as it was set for the service, or unset it if it was not.',
  );
}

/** Raw bytes come from the reference, because the service makes a text. */
function derivationOf(kept: Buffer | undefined): Derivation {
  return kept === undefined || isText(kept) ? 'own' : 'reference';
}

/** Text that a person can have put there: no control characters but white space. */
function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !/[\0-\x08\x0e-\x1f\x7f]/.test(bytes.toString());
}

function keyIn(kept: Buffer, derivation: Derivation): Uint8Array {
  return derivation === 'own' && isText(kept) ? Buffer.from(kept.toString().trim()) : kept;
}

async function readBytes(dir: string): Promise<Buffer | undefined> {
  try {
    return await readFile(join(dir, SECRET_FILE));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeSecret(dir: string, owner: Owner | undefined): Promise<Buffer> {
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
  const made = await readBytes(dir);
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
