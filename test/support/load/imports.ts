import { NoteIds } from '../../../src/feeds/ids.ts';
import { picture } from '../pictures.ts';
import { ask } from '../service.ts';
import { zipOf } from '../zips.ts';
import { answered, Broken, bytesAt, type Load, listed, look, same, type WriteKind } from './write-kind.ts';

const NOTES = 60;
const PICTURE_EVERY = 12;

interface Import {
  readonly feed: string;
  readonly bytesOf: ReadonlyMap<string, string | Buffer>;
  readonly zip: Buffer<ArrayBuffer>;
  /** Files that a look has shown, which stay. */
  readonly seen: Set<string>;
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
    return { feed: `imported-${count}`, bytesOf: new Map(files), zip, seen: new Set() };
  };
  const checkNotes = async ({ feed, bytesOf, seen }: Import) => {
    const notes = await listed((query) => load.feed(feed).list(query));
    const bytes = await Promise.all(notes.map(({ file_url }) => bytesAt(file_url)));
    for (const [n, { file, tags }] of notes.entries()) {
      const imported = bytesOf.get(file);
      if (imported === undefined || !Buffer.from(imported).equals(bytes[n]!))
        throw new Broken(`${file} is not as it was imported`);
      same(tags, ['imported'], `the tags of ${file}`);
    }
    const files = new Set(notes.map(({ file }) => file));
    const lost = [...seen].filter((file) => !files.has(file));
    same(lost, [], `the notes of ${feed} that are lost`);
    for (const file of files) seen.add(file);
  };

  return {
    name: 'imports',
    clients: 1,
    write: async () => {
      open ??= next();
      const init = { method: 'POST', headers: { 'content-type': 'application/zip' }, body: open.zip };
      const address = `${load.feed(open.feed).record}/import`;
      const { json } = answered(await load.answer(() => ask(address, init)), 200);
      same([json.imported + json.skipped, json.refused], [NOTES, []], 'what an import says');
      for (const file of open.bytesOf.keys()) open.seen.add(file);
      done.push(open);
      open = undefined;
    },
    check: async () => {
      for (const one of open ? [...done, open] : done) await checkNotes(one);
      for (const { feed } of done) {
        const { json } = await look(() => load.feed(feed).get());
        same(json.title, `import ${feed.slice(9)}`, 'its title');
      }
    },
  };
}
