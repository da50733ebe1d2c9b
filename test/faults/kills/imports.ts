import { NoteIds } from '../../../src/feeds/ids.ts';
import { picture } from '../../support/pictures.ts';
import { ask } from '../../support/service.ts';
import { zipOf } from '../../support/zips.ts';
import { answered, Broken, bytesAt, feedOf, type Load, listed, same, type WriteKind } from './write-kind.ts';

const NOTES = 60;
const PICTURE_EVERY = 12;

interface Import {
  readonly feed: string;
  readonly bytesOf: ReadonlyMap<string, string | Buffer>;
  readonly zip: Buffer<ArrayBuffer>;
}

/** Imports feeds from zips, each again until it is answered. */
export function imports(load: Load): WriteKind {
  const ids = new NoteIds();
  const done: Import[] = [];
  let open: Import | undefined;
  let count = 0;

  const next = (): Import => {
    count += 1;
    const files = Array.from({ length: NOTES }, (_, n): [string, string | Buffer] =>
      n % PICTURE_EVERY === 0
        ? [`${ids.next()}.png`, picture('png', 5_000, n + count)]
        : [`${ids.next()}.md`, `note ${n} of import ${count}`],
    );
    const zipped = files.flatMap(([name, bytes]) => [
      { name, bytes },
      { name: `.${name}.json`, bytes: '{"tags":["imported"]}' },
    ]);
    const zip = zipOf([{ name: '.feed.json', bytes: `{"title":"import ${count}"}` }, ...zipped]);
    return { feed: `imported-${count}`, bytesOf: new Map(files), zip };
  };
  const notesOf = async ({ feed, bytesOf }: Import) => {
    const notes = await listed(feedOf(load, feed));
    for (const { file, file_url: url, tags } of notes) {
      const bytes = bytesOf.get(file);
      if (bytes === undefined || !Buffer.from(bytes).equals(await bytesAt(url)))
        throw new Broken(`${file} is not as it was imported`);
      same(tags, ['imported'], `the tags of ${file}`);
    }
    return notes;
  };

  return {
    name: 'imports',
    clients: 1,
    write: async () => {
      open ??= next();
      const init = { method: 'POST', headers: { 'content-type': 'application/zip' }, body: open.zip };
      const { json } = answered(await ask(`${feedOf(load, open.feed).record}/import`, init), 200);
      same([json.imported + json.skipped, json.refused], [NOTES, []], 'what an import says');
      done.push(open);
      open = undefined;
    },
    check: async () => {
      for (const one of done) {
        same((await notesOf(one)).length, NOTES, `the notes of ${one.feed}`);
        same(
          answered(await feedOf(load, one.feed).get(), 200).json.title,
          `import ${one.feed.slice(9)}`,
          'its title',
        );
      }
      if (open) await notesOf(open);
    },
  };
}
