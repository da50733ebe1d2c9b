import { constants, fstatSync, openSync } from 'node:fs';

/**
 * A descriptor of the process's standard output on which a write never waits for the reader.
 *
 * A pipe or a terminal is opened once more, so that its flags are ours alone and programs that share it (a
 * shell, a parent) keep theirs. What cannot be opened so (a socket, or a pipe of another user) is left to
 * `process.stdout`, which turns waiting off for it. A file has no reader and is used as it is.
 */
export function unblockedStdout(): number {
  const stdout = fstatSync(1);
  if (stdout.isFile()) return 1;
  try {
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return process.stdout.fd;
  }
}
