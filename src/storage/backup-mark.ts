import { closeSync, futimesSync, openSync } from 'node:fs';
import { join } from 'node:path';

/** The file in DATA_DIR whose modification time is that of the last backup that succeeded. It is empty. */
export function backupMark(dataDir: string): string {
  return join(dataDir, '.backup-done');
}

/** Records that a backup succeeded now, for the metric of its age. Throws the system's error. */
export function markBackup(dataDir: string): void {
  const fd = openSync(backupMark(dataDir), 'a', 0o644);
  const now = new Date();
  futimesSync(fd, now, now);
  closeSync(fd);
}
