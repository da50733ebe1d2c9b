import t from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import { dataFolder } from './files-support.ts';
import { isWhole, listedAreWhole, postAndKill } from './kills.ts';
import { opened } from './sqlite-support.ts';

const KILLS = 12;

t.setTimeout(180_000);

t.test('no kill loses an acknowledged note, or leaves a part of a request', async (t) => {
  const dir = await dataFolder(t);
  const lines = await postAndKill(dir, 'sqlite', KILLS);
  const storage = await opened(t, dir);
  const lost = [];
  for (const line of lines) if (!(await isWhole(storage, line))) lost.push(line);
  t.same(lost, []);
  t.ok(lines.length > KILLS, `${lines.length} notes were acknowledged`);
  const feeds = new Set(lines.map((line) => line.split(' ')[0] as FeedName));
  for (const feed of feeds)
    if (!(await listedAreWhole(storage, feed))) t.fail('a part of a request is listed');
});
