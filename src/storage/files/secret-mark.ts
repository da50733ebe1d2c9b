import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { type Derivation, isDerivation } from '../../feeds/ids.ts';
import type { Owner } from '../../privileges.ts';
import type { Log } from '../../telemetry/log.ts';
import { DurableWriter, lineFile } from './durable.ts';
import { errorCode } from './failures.ts';
import { READ_ID_FILE, SECRET_MARK_FILE } from './names.ts';
import { isThere, readLine } from './read-file.ts';
import { feedNames } from './scan.ts';

/**
 * What a data folder says of the secret that it is used with: `<derivation> <check>` in `.secret-mark`. So an exchanged
 * secret is noticed, and a folder of the reference stays one when its `.secret` is replaced by SERVICE_SECRET.
 */
export interface SecretMark {
  readonly derivation: Derivation;
  /** A keyed hash of a constant, so it is equal for the same secret only. */
  readonly check: string;
}

/** The server secret of a data folder. */
export interface FolderSecret {
  readonly key: Uint8Array;
  /** How read ids follow from it. */
  readonly derivation: Derivation;
  /** The mark that the folder has. */
  readonly mark: SecretMark | undefined;
  /** Whether the folder was used with it before; undefined if nothing tells. */
  readonly isKnown: boolean | undefined;
}

type Used = Pick<FolderSecret, 'key' | 'derivation'>;

const OTHER_SECRET =
  'the server secret, or SERVICE_DERIVED_READ_IDS, is not that of the last start: sessions end, and feeds without a .readid ' +
  'have other read links';
const UNKNOWN_SECRET =
  'nothing in DATA_DIR tells that it was used with this server secret: if it was another one, sessions end, and feeds ' +
  'without a .readid have other read links';

/** Whether read ids and sessions of the mark are those of the secret. */
export function isMarkOf(mark: SecretMark, secret: Used): boolean {
  return lineOf(mark) === lineOf(markOf(secret));
}

/** The mark in a data folder; undefined if there is none. */
export async function readMark(dir: string): Promise<SecretMark | undefined> {
  const [derivation = '', check] = (await readLine(join(dir, SECRET_MARK_FILE)))?.split(' ') ?? [];
  return isDerivation(derivation) && check !== undefined ? { derivation, check } : undefined;
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
  const { mark, isKnown } = secret;
  if (mark && isKnown) return;
  if (!isKnown) {
    const feedsWithoutReadId = await countWithoutReadId(dir);
    if (mark || feedsWithoutReadId > 0)
      log.warn(mark ? OTHER_SECRET : UNKNOWN_SECRET, { feedsWithoutReadId });
  }
  try {
    await new DurableWriter(owner).change(dir, [lineFile(SECRET_MARK_FILE, lineOf(markOf(secret)))]);
  } catch (error) {
    // A full disk must not keep notes from being read.
    log.warn('DATA_DIR cannot be marked with its secret', { code: errorCode(error) });
  }
}

function markOf({ key, derivation }: Used): SecretMark {
  const check = createHmac('sha256', key).update('secret-mark').digest('base64url').slice(0, 22);
  return { derivation, check };
}

function lineOf({ derivation, check }: SecretMark): string {
  return `${derivation} ${check}`;
}

async function countWithoutReadId(dir: string): Promise<number> {
  let count = 0;
  for (const name of await feedNames(dir)) if (!(await isThere(join(dir, name, READ_ID_FILE)))) count += 1;
  return count;
}
