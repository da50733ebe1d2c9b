import t from 'tap';
import type { FeedName, NoteFile } from '../../../src/feeds/names.ts';
import { indexOfFolder } from '../../../src/storage/index-place.ts';
import { IndexWork } from '../../../src/storage/search/index-work.ts';
import type { ListedNote, NoteSource } from '../../../src/storage/search/note-source.ts';
import { dataFolder } from '../files-support.ts';

t.test('a comparison that is begun anew, or not ended, leaves no list of notes open', async (t) => {
  const feed = 'large' as FeedName;
  let open = 0;
  const source: NoteSource = {
    feeds: () => [feed],
    // The list has no end, so no step comes to it.
    *list(): Generator<ListedNote> {
      open += 1;
      try {
        for (let n = 0; ; n += 1) yield { file: `${n}.md` as NoteFile, createdAt: n, version: 1 };
      } finally {
        open -= 1;
      }
    },
    read: () => undefined,
    close: () => {},
  };
  const file = indexOfFolder(await dataFolder(t));
  const work = new IndexWork({
    file,
    owner: undefined,
    openSource: () => source,
    textsOf: () => [],
    run: 1,
  });
  for (let n = 0; n < 3; n += 1) {
    t.notOk(work.compare([feed]).isDone);
    t.equal(open, 1);
  }
  work.close();
  t.equal(open, 0);
});
