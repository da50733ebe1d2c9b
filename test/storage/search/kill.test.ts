import t from 'tap';
import { IndexedFolder } from './indexed-folder.ts';
import { killAndLook } from './kills.ts';

t.setTimeout(600_000);

t.test('no kill while notes are indexed breaks the index', async (t) => {
  await killAndLook(t, await IndexedFolder.make(t, { notes: 150 }), 3);
});
