import t from 'tap';
import { noteFile } from '../../src/feeds/names.ts';
import { edits, post, reads } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { dataFolder } from './files-support.ts';
import { opened } from './sqlite-support.ts';

t.test('no two versions of a file are of the same time', async (t) => {
  const storage = await opened(t, await dataFolder(t));
  const [name, note] = [feedName('feed'), newNote('0', 'png')];
  await post(storage, name, note);
  const times = new Set<number>();
  for (let version = 1; version <= 4; version += 1) {
    const file = await reads(storage).stat(name, noteFile(note.id, 'png'));
    times.add(file!.modifiedAt);
    await edits(storage).replace(name, note.id, Buffer.from(`${version}`));
  }
  t.equal(times.size, 4);
});
