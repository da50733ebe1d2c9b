import { execFileSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { program } from '../installed.ts';
import { tempDir } from '../service.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** What a program believes to be on the disk and is not, by a condition in C. */
const UNSYNCED = {
  folders: 'S_ISDIR(it.st_mode)',
  files: '!S_ISDIR(it.st_mode)',
};

export type Unsynced = keyof typeof UNSYNCED;

function library(condition: string): string {
  return `
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static int sync_it(long call, int fd) {
  struct stat it;
  return fstat(fd, &it) == 0 && (${condition}) ? 0 : syscall(call, fd);
}
int fsync(int fd) { return sync_it(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_it(SYS_fdatasync, fd); }
`;
}

/** The variables with which a process syncs nothing of that kind, whoever in it calls the system: a library loaded before all others. */
export async function withoutSync(t: Scope, kind: Unsynced): Promise<Record<string, string>> {
  const dir = await tempDir(t);
  await chmod(dir, 0o755);
  const [source, built] = [join(dir, 'sync.c'), join(dir, 'sync.so')];
  await writeFile(source, library(UNSYNCED[kind]));
  execFileSync(program('cc'), ['-shared', '-fPIC', '-o', built, source]);
  return { LD_PRELOAD: built };
}
