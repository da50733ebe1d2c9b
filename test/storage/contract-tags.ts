import { edits, post, reads } from '../support/storing.ts';
import { type Backend, newNote, runner } from './contract.ts';
import { name, other, reopened } from './contract-support.ts';

/** What every storage backend must tell of a feed's tags. */
export function testTags(backend: Backend): void {
  const test = runner(backend);

  test('tags are told by count, then by name, as notes come, change and go', async (t, storage, place) => {
    t.same(await reads(storage).tags(name), [], 'there is no feed');
    const note = (...tags: string[]) => newNote('x', 'md', { tags });
    const first = note('both', 'a', 'über');
    await post(storage, name, first);
    const picture = newNote('p', 'png', { tags: ['both', '日本', 'b'] });
    for (const one of [picture, newNote('none')]) await post(storage, name, one);
    await post(storage, other, note('both', 'elsewhere'));
    const one = (tag: string) => ({ tag, count: 1 });
    const all = [{ tag: 'both', count: 2 }, one('a'), one('b'), one('über'), one('日本')];
    t.same(await reads(storage).tags(name), all);
    t.same(await reads(storage).tags(name, 'b'), [{ tag: 'both', count: 2 }, one('b')]);
    t.same(await reads(storage).tags(name, '日'), [one('日本')]);
    t.same(await reads(storage).tags(name, '_%'), [], 'no sign in it means another one');
    const again = await reopened(t, storage, place);
    t.same(await reads(again).tags(name), all);
    await edits(again).describe(name, first.id, { tags: ['b'] });
    t.same(await reads(again).tags(name), [{ tag: 'b', count: 2 }, one('both'), one('日本')]);
    await edits(again).remove(name, picture.id);
    t.same(await reads(again).tags(name), [one('b')]);
    const feed = (await again.feed(name))!;
    await edits(again).deleteFeed(name);
    await post(again, name, note('new'));
    t.same(await again.tags(feed, ''), [], 'the feed is another one');
    t.same(await reads(again).tags(name), [one('new')]);
  });

  test('no more than a thousand tags are told, the most used ones', async (t, storage) => {
    const tags = Array.from({ length: 2_345 }, (_, n) => `t${String(n).padStart(4, '0')}`);
    const notes = Array.from({ length: 235 }, (_, n) =>
      newNote('x', 'md', { tags: tags.slice(n * 10, n * 10 + 10) }),
    );
    await post(storage, name, notes);
    await post(storage, name, newNote('x', 'md', { tags: ['t2344'] }));
    const counts = tags.slice(0, 999).map((tag) => ({ tag, count: 1 }));
    t.same(await reads(storage).tags(name), [{ tag: 't2344', count: 2 }, ...counts]);
    const ofPrefix = tags.slice(2_300).map((tag) => ({ tag, count: tag === 't2344' ? 2 : 1 }));
    t.same(await reads(storage).tags(name, 't23'), [ofPrefix.at(-1), ...ofPrefix.slice(0, -1)]);
  });
}
