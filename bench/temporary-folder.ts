import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a folder that is gone when the process ends, also by a signal. */
export function temporaryFolder(name: string, parent: string = tmpdir()): string {
  const dir = mkdtempSync(join(parent, `notes-${name}-`));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  return dir;
}
