import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';
import { FEEDS, type IndexedFolder } from './indexed-folder.ts';

const SCRIPT = new URL('../../fixtures/index-notes.ts', import.meta.url).pathname;

/** Kills a process that makes the index, several times; after each, everything is found with what it left. */
export async function killAndLook(t: Test, folder: IndexedFolder, kills: number): Promise<void> {
  for (let n = 0; n < kills; n += 1) {
    const child = spawn(process.execPath, [SCRIPT, folder.dir, folder.file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close');
    await once(child.stdout, 'data');
    await wait(Math.random() * 100);
    child.kill('SIGKILL');
    await closed;
    await folder.put(FEEDS[0]!, 1000 + n);
    await folder.remove(FEEDS[1]!, n);
    folder.start();
    await folder.mustBecomeRight(t, `after ${n + 1} kills`);
    await folder.stop();
  }
  t.same(folder.lines, [], 'no index was made again');
}
