import { execFileSync } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import { tempDir } from './service.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** Why file systems cannot be mounted here; false where they can. */
export const CANNOT_MOUNT = mountObstacle();

function mountObstacle(): string | false {
  if (process.getuid?.() !== 0) return 'mounting a file system needs root';
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'file systems cannot be mounted here';
  }
}

/** A disk in memory of that size, for example `2m`; gone when the test ends. */
export async function smallDisk(t: Scope, size: string): Promise<string> {
  const parent = await tempDir(t);
  await chmod(parent, 0o755);
  const dir = `${parent}/disk`;
  await mkdir(dir);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', dir]);
  t.teardown(() => execFileSync('umount', ['--lazy', dir]));
  return dir;
}

/**
 * Covers a folder with a read-only view of itself until the returned function is called: a disk itself cannot be
 * made read-only while files on it are open for writing.
 * @param now where the folder is when it is uncovered
 */
export function makeReadOnly(t: Scope, dir: string, now = () => dir): () => void {
  execFileSync('mount', ['--bind', dir, dir]);
  execFileSync('mount', ['-o', 'remount,ro,bind', dir]);
  let isCovered = true;
  const uncover = () => {
    if (isCovered) execFileSync('umount', ['--lazy', now()]);
    isCovered = false;
  };
  t.teardown(uncover);
  return uncover;
}
