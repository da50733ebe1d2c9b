import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../eventually.ts';
import { q } from '../searching.ts';
import type { Note } from './drafts.ts';
import { FeedNotes, type Made } from './feed-notes.ts';
import { type Load, look, same, type WriteKind } from './write-kind.ts';

const NOTES = 6;
/** In all notes of the feed. */
const COMMON = 'everywhere';
/** How many words that are gone a look searches for. */
const GONE = 10;

/** Notes with words that no other has, which edits replace and deletions take away. */
export function searched(load: Load): WriteKind {
  const { random } = load;
  const notes = new FeedNotes(load, 'searched');
  const words: string[] = [];
  const textWith = (mark: string): Note => {
    const word = `word${load
      .next()
      .toString(26)
      .replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)]!)}`;
    words.push(word);
    const content = `${mark} ${COMMON} ${word}`;
    return { type: 'text/markdown', content, title: content, tags: [] };
  };
  /** Waits until a text finds these notes: the index comes to what a fault has left within a second. */
  const checkSearch = async (text: string, ids: readonly string[]) => {
    let found: string[] = [];
    const isCurrent = await eventually(async () => {
      const { json } = await look(() => notes.client.list(`${q(text)}&limit=100`));
      found = json.notes.map(({ id }: { id: string }) => id);
      return isDeepStrictEqual(found, ids);
    });
    if (!isCurrent) same(found, ids, `the notes with ${text}`);
  };
  const wordOf = ({ content }: Note) => content.split(' ')[2]!;
  const certain = () => notes.made.filter((made) => made.notes.state?.length);
  const make = async () => {
    const mark = `s${load.next()}`;
    const note = textWith(mark);
    await notes.post({ mark, notes: [note], body: Buffer.from(note.content), headers: {} });
  };
  const change = async ({ mark, notes: promised, ids }: Made) => {
    const path = `/notes/${[...ids.values()][0]}`;
    if (random.oneIn(3)) {
      await promised.write([], 204, () => notes.client.send('DELETE', path));
      return;
    }
    const note = textWith(mark);
    const client = notes.client.with({ 'content-type': note.type });
    await promised.write([note], 200, () => client.put(path, note.content));
  };

  return {
    name: 'searched notes',
    clients: 1,
    write: async () => {
      const all = certain();
      if (all.length === 0 || (all.length < NOTES && random.oneIn(2))) return make();
      await change(random.oneOf(all));
    },
    check: async () => {
      await notes.check();
      const there = certain().map((made) => ({
        id: [...made.ids.values()][0]!,
        word: wordOf(made.notes.state![0]!),
      }));
      const newestFirst = there.map(({ id }) => id).toSorted((a, b) => (a < b ? 1 : -1));
      await checkSearch(COMMON, newestFirst);
      for (const { id, word } of there) await checkSearch(word, [id]);
      const gone = words.filter((word) => !there.some((one) => one.word === word));
      for (const word of gone.slice(-GONE)) await checkSearch(word, []);
    },
  };
}
