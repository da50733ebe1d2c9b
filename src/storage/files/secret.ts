import { isUtf8 } from 'node:buffer';
import { createHmac, randomBytes } from 'node:crypto';
import { link, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Derivation, isDerivation } from '../../feeds/ids.ts';
import type { Owner } from '../../privileges.ts';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { DurableWriter, lineFile, syncFolder } from './durable.ts';
import { READ_ID_FILE, SECRET_FILE, SECRET_MARK_FILE, tempName } from './names.ts';
import { isThere, readLine } from './read-file.ts';
import { feedNames } from './scan.ts';

const MIN_BYTES = 32;

const OTHER_SECRET =
  'the server secret, or SERVICE_DERIVED_READ_IDS, is not that of the last start: sessions end, and feeds without a .readid ' +
  'have other read links';
const UNKNOWN_SECRET =
  'nothing in DATA_DIR tells that it was used with this server secret: if it was another one, sessions end, and feeds ' +
  'without a .readid have other read links';

/** The settings about the secret. */
export interface SecretSettings {
  /** SERVICE_SECRET. */
  readonly secret?: Uint8Array | undefined;
  /** SERVICE_DERIVED_READ_IDS. */
  readonly derivedReadIds?: Derivation | undefined;
}

/** The server secret of a data folder. */
export interface FolderSecret {
  readonly key: Uint8Array;
  /** How read ids follow from it. */
  readonly derivation: Derivation;
  /** The folder has a mark, of this secret or another one. */
  readonly isMarked: boolean;
  /** Whether the folder was used with it before; undefined if nothing tells. */
  readonly isKnown: boolean | undefined;
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
  const [marked = '', check] = (await readLine(join(dir, SECRET_MARK_FILE)))?.split(' ') ?? [];
  const isMarked = isDerivation(marked) && check !== undefined;
  const derivation = settings.derivedReadIds ?? (isMarked ? marked : derivationOf(kept));
  const key = settings.secret ?? keyIn(kept ?? (await makeSecret(dir, owner)), derivation);
  if (key.byteLength < MIN_BYTES) {
    throw new Error(
      `The file ${SECRET_FILE} in DATA_DIR is shorter than ${MIN_BYTES} bytes; put back the right one or remove it.`,
    );
  }
  const isOfFile = kept && Buffer.from(key).equals(keyIn(kept, derivation));
  const isKnown = isMarked ? `${marked} ${check}` === markOf({ key, derivation }) : isOfFile;
  return { key, derivation, isMarked, isKnown };
}

/** As `loadSecret`, but undefined if the settings name none and there is no such file. */
export async function readSecret(dir: string, settings: SecretSettings): Promise<FolderSecret | undefined> {
  const hasSecret = settings.secret !== undefined || (await readBytes(dir)) !== undefined;
  return hasSecret ? loadSecret(dir, settings) : undefined;
}

/**
 * The secret from which the read ids of a data folder were derived. Throws an error with a sentence for the operator if
 * there is none, or the folder was used with another one.
 */
export async function secretOfFolder(dir: string, settings: SecretSettings): Promise<FolderSecret> {
  const secret = await readSecret(dir, settings);
  if (secret && secret.isKnown !== false) return secret;
  const used = settings.secret ? 'SERVICE_SECRET' : `the file ${SECRET_FILE} there`;
  const [why, mend] = secret
    ? [`${used} is another one than the service ran with`, ', or unset it if it was not']
    : [`there is no file ${SECRET_FILE}`, ''];
  throw new Error(
    `Some feeds there have a read id that follows from the secret, and ${why}: set SERVICE_SECRET as it was set for the ` +
      `service${mend}.`,
  );
}

/**
 * Marks a data folder with the secret that it is used with from now on. Warns if that is another one than before, with the
 * number of feeds whose read links follow from it. To be called only while no other process uses the folder.
 */
export async function markFolder(
  dir: string,
  secret: FolderSecret,
  { owner, log }: { readonly owner: Owner | undefined; readonly log: Pick<Log, 'warn'> },
): Promise<void> {
  const { isMarked, isKnown } = secret;
  if (isMarked && isKnown) return;
  if (!isKnown) {
    const feedsWithoutReadId = await countWithoutReadId(dir);
    if (isMarked || feedsWithoutReadId > 0)
      log.warn(isMarked ? OTHER_SECRET : UNKNOWN_SECRET, { feedsWithoutReadId });
  }
  try {
    await new DurableWriter(dir, owner).change(dir, [lineFile(SECRET_MARK_FILE, markOf(secret))]);
  } catch (error) {
    // A full disk must not keep notes from being read.
    log.warn('DATA_DIR cannot be marked with its secret', { code: errorCode(error) });
  }
}

/**
 * The line of `.secret-mark`: the derivation, and a keyed hash of a constant. So an exchanged secret is noticed, and a folder
 * of the reference stays one when its `.secret` is replaced by SERVICE_SECRET.
 */
function markOf({ key, derivation }: Pick<FolderSecret, 'key' | 'derivation'>): string {
  return `${derivation} ${createHmac('sha256', key).update('secret-mark').digest('base64url').slice(0, 22)}`;
}

async function countWithoutReadId(dir: string): Promise<number> {
  let count = 0;
  // Of a folder that may not be searched, the start only warns.
  const hasReadId = (name: string) => isThere(join(dir, name, READ_ID_FILE)).catch(() => true);
  for (const name of await feedNames(dir)) if (!(await hasReadId(name))) count += 1;
  return count;
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
  const name = tempName();
  const bytes = Buffer.from(`${randomBytes(MIN_BYTES).toString('base64url')}\n`);
  await new DurableWriter(dir, owner).change(dir, [{ name, bytes, private: true }]);
  const [temp, path] = [join(dir, name), join(dir, SECRET_FILE)];
  try {
    // A link never replaces what another process made meanwhile; a rename is for file systems without links.
    await link(temp, path).catch((error) => (errorCode(error) === 'EEXIST' ? undefined : rename(temp, path)));
    await syncFolder(dir);
  } finally {
    await unlink(temp).catch(() => undefined);
  }
  const made = await readBytes(dir);
  if (made === undefined) throw new Error(`The file ${SECRET_FILE} in DATA_DIR vanished while it was made.`);
  return made;
}
