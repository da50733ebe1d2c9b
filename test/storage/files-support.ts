import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { licenseCheck } from '../../src/licenses/licenses.ts';
import type { DurableWriter } from '../../src/storage/files/durable.ts';
import { type FilesHelpers, type FilesOptions, openFiles } from '../../src/storage/files/files.ts';
import { RetiredReadIds } from '../../src/storage/files/line-files.ts';
import type { WriteParts } from '../../src/storage/files/writes.ts';
import { KeyedLock } from '../../src/storage/keyed-lock.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { PUBLIC_KEY } from '../support/licenses.ts';
import type { Backend } from './contract.ts';

export const SECRET = Buffer.from('a secret of tests that is long enough');

/** A log that keeps its lines. */
export function keptLog(): { lines: string[]; warn(message: string): void; error(message: string): void } {
  const lines: string[] = [];
  return { lines, warn: (message) => lines.push(message), error: (message) => lines.push(message) };
}

interface Teardown {
  teardown(work: () => unknown): void;
}

/** An empty data folder, removed when the test ends. */
export async function dataFolder(t: Teardown, parent = tmpdir()): Promise<string> {
  const dir = await mkdtemp(join(parent, 'files-storage-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Opens the storage on a folder; closed when the test ends. */
export async function opened(
  t: Teardown,
  dir: string,
  options: Partial<FilesOptions> = {},
  helpers?: FilesHelpers,
): Promise<Storage> {
  const unlimited = { maxFeeds: 0, maxBytes: 0, keepDays: 0 };
  const storage = await openFiles({ dir, secret: SECRET, ...unlimited, log: keptLog(), ...options }, helpers);
  t.teardown(() => storage.close());
  return storage;
}

/** The storage on plain files, for the contract suite. */
export const filesBackend: Backend = {
  name: 'files',
  create: async (t, maxFeeds, maxBytes) => {
    const dir = await dataFolder(t);
    const isLicenseValid = licenseCheck([PUBLIC_KEY]);
    return {
      open: () =>
        openFiles({
          dir,
          secret: SECRET,
          maxFeeds,
          maxBytes,
          keepDays: 0,
          isLicenseValid,
          log: keptLog(),
        }),
    };
  },
};

/** The same with an index. */
export const searchedFiles: Backend = {
  name: 'files',
  create: async (t, maxFeeds) => {
    const dir = await dataFolder(t);
    return {
      open: () =>
        openFiles({ dir, secret: SECRET, maxFeeds, maxBytes: 0, keepDays: 0, search: true, log: keptLog() }),
    };
  },
};

/** What writes to a folder work on, without limits and removals. */
export function writeParts(
  parts: Pick<WriteParts, 'dir' | 'index' | 'log'> & { readonly writer: DurableWriter },
): WriteParts {
  return {
    ...parts,
    locks: new KeyedLock(),
    records: { find: async () => [] },
    retired: new RetiredReadIds(parts.dir, parts.writer, ''),
    removals: { remove: async () => {} },
    keeper: { whenMarked: async () => {} },
    rules: { maxFeeds: 0, maxBytes: 0, keepDays: 0, isLicenseValid: undefined },
    onMade: () => {},
    onLost: () => {},
  };
}
