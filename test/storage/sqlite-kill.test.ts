import t from 'tap';
import { times } from '../support/effort.ts';
import { dataFolder } from './files-support.ts';
import { nothingIsLost, postAndKill } from './kills.ts';
import { opened } from './sqlite-support.ts';

const KILLS = times(2, 12);

t.setTimeout(600_000);

t.test('no kill loses an acknowledged note, or leaves a part of a request', async (t) => {
  const dir = await dataFolder(t);
  const lines = await postAndKill(dir, 'sqlite', KILLS);
  const storage = await opened(t, dir);
  await nothingIsLost(t, storage, lines, KILLS);
});
