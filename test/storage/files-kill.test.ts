import { lstatSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type FeedName, parseNoteFile } from '../../src/feeds/names.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { times } from '../support/effort.ts';
import { dataFolder, opened } from './files-support.ts';
import { listedAreWhole, noKeyTwice, nothingIsLost, postAndKill } from './kills.ts';

const KILLS = times(2, 12);

t.setTimeout(600_000);

t.test(
  'no kill loses an acknowledged note, shows a half one, or leaves anything unfinished behind',
  async (t) => {
    const dir = await dataFolder(t);
    const lines = await postAndKill(dir, 'files', KILLS);
    const storage = await opened(t, dir);
    // First, because what looks at a note corrects what is wrong of it.
    await bytesAreThoseOfFiles(t, storage, dir);
    await nothingIsLost(t, storage, lines, KILLS);
    const names = (await readdir(dir, { recursive: true })).filter((name) =>
      /\.(tmp|intent)-nfs-/.test(name),
    );
    t.same(names, []);
    for (const feed of (await readdir(dir)).filter((name) => name.startsWith('feed-'))) {
      const files = new Set(await readdir(join(dir, feed)));
      const orphans = [...files].filter((f) => f.endsWith('.md.json') && !files.has(f.slice(1, -5)));
      if (orphans.length > 0) t.fail('metadata without its note');
      if (!files.has('.readid')) t.fail('a feed without its read id');
      if (!(await listedAreWhole(storage, feed as FeedName))) t.fail('a half note is listed');
    }
  },
);

t.test('no kill makes a second note of a key', async (t) => {
  const dir = await dataFolder(t);
  await noKeyTwice(t, dir, { backend: 'files', kills: times(3, 100), open: () => opened(t, dir) });
});

/** The sums of the feeds, and of the instance, are those of the files of notes. */
async function bytesAreThoseOfFiles(t: Test, storage: Storage, dir: string): Promise<void> {
  let bytes = 0;
  for (const feed of (await readdir(dir)).filter((name) => name.startsWith('feed-'))) {
    const notes = (await readdir(join(dir, feed))).filter((file) => parseNoteFile(file) !== undefined);
    const ofFeed = notes.reduce((sum, file) => sum + lstatSync(join(dir, feed, file)).size, 0);
    t.equal((await storage.feed(feed as FeedName))?.byteCount, ofFeed);
    bytes += ofFeed;
  }
  t.equal((await storage.totals()).bytes, bytes);
}
