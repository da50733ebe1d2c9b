import { eventually } from '../../support/eventually.ts';
import { q, unlessBusy } from '../../support/searching.ts';
import { Promised } from './promised.ts';
import { answered, Broken, feedOf, type Load, listed, same, type WriteKind } from './write-kind.ts';

const FEED = 'searched';
const NOTES = 6;
/** In all notes of the feed. */
const COMMON = 'everywhere';

/** Notes with words that no other has, which edits replace and deletions take away. */
export function searched(load: Load): WriteKind {
  /** The word of each note, empty once it is deleted. */
  const words = new Map<string, Promised<string>>();
  /** Words that no note has any more. */
  const gone: string[] = [];
  let count = 0;
  const textOf = (word: string) => `${COMMON} ${word}`;
  const find = async (text: string) => {
    const search = async () => answered(await feedOf(load, FEED).list(`${q(text)}&limit=100`), 200, 503);
    const { json } = answered(await unlessBusy(search), 200);
    return (json.notes as { id: string }[]).map(({ id }) => id);
  };

  return {
    name: 'searched notes',
    clients: 1,
    write: async () => {
      const word = `word${(++count).toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)]!)}`;
      const feed = feedOf(load, FEED);
      const note = load.random.oneOf([...words].filter(([, promised]) => promised.state));
      if (!note || (words.size < NOTES && load.random.below(2) === 0)) {
        const { json } = answered(await feed.post(textOf(word)), 201);
        words.set(json.id, new Promised(word));
        return;
      }
      const [id, promised] = note;
      const before = promised.state!;
      if (load.random.below(3) === 0)
        await promised.write('', 204, () => feed.send('DELETE', `/notes/${id}`));
      else
        await promised.write(word, 200, () =>
          feed.with({ 'content-type': 'text/markdown' }).put(`/notes/${id}`, textOf(word)),
        );
      gone.push(before);
    },
    check: async () => {
      const notes = await listed(feedOf(load, FEED));
      const there = new Map<string, string>(notes.map(({ id, content }) => [id, content.split(' ')[1]]));
      for (const [id, promised] of words) {
        const { states } = promised;
        promised.settle(there.get(id) ?? '', `the word of ${id}`);
        gone.push(...states.filter((word) => word !== '' && word !== promised.state));
      }
      const ids = notes.map(({ id }) => id);
      let found: string[] = [];
      const isCurrent = await eventually(async () => {
        found = await find(COMMON);
        return found.length === ids.length;
      });
      if (!isCurrent) throw new Broken(`${found.length} notes are found instead of ${ids.length}`);
      same(found, ids, 'the notes that are found');
      for (const [id, word] of there) same(await find(word), [id], `the notes with ${word}`);
      for (const word of gone.slice(-10)) same(await find(word), [], `the notes with ${word}, which is gone`);
      for (const [id, promised] of words) if (promised.state === '') words.delete(id);
    },
  };
}
