import type { NoteId } from '../../src/feeds/names.ts';
import { type Arrivals, MAX_LAG_MS } from '../../src/storage/arrivals.ts';
import { edits, post } from '../support/storing.ts';
import { type Backend, newNote, runner } from './contract.ts';
import { name, other, reopened } from './contract-support.ts';

const ids = (arrivals: Arrivals | undefined) => arrivals?.notes.map(({ id }) => id);

/** What every storage backend must tell of the order in which notes came. */
export function testArrivals(backend: Backend): void {
  const test = runner(backend);

  test('notes are told in the order in which they came, whatever their dates', async (t, storage, place) => {
    const [late, first, last] = [newNote('late'), newNote('first'), newNote('last', 'png')];
    for (const note of [first, late, last]) {
      await post(storage, name, note);
      await post(storage, other, newNote('between'));
    }
    const feed = (await storage.feed(name))!;
    const all = [first.id, late.id, last.id];
    const after = async (since: NoteId) => ids(await storage.arrivals(feed, since, 10));
    for (const [n, id] of all.entries()) t.same(await after(id), all.slice(n + 1));
    t.same(ids(await storage.arrivals(feed, undefined, 10)), all);
    const [one] = (await storage.arrivals(feed, undefined, 1))!.notes;
    t.equal(one?.id, last.id);
    t.same(await storage.arrivals(feed, one, 10), { notes: [], isComplete: true });
    t.match(await storage.arrivals(feed, first.id, 1), { notes: [{ id: last.id }], isComplete: false });
    t.match(await storage.arrivals(feed, first.id, 2), { isComplete: true });
    await edits(storage).describe(name, first.id, { title: 'Edited' });
    t.same(await after(first.id), [late.id, last.id], 'an edit moves none');
    t.same(ids(await storage.arrivals(feed, one, 10)), []);
    const again = await reopened(t, storage, place);
    const reread = (await again.feed(name))!;
    for (const [n, id] of all.entries())
      t.same(ids(await again.arrivals(reread, id, 10)), all.slice(n + 1), 'after a restart');
  });

  test('a place that is dated later than now, as after the clock was set back, hides no note', async (t, storage) => {
    await post(storage, name, newNote('first'));
    const feed = (await storage.feed(name))!;
    const [first] = (await storage.arrivals(feed, undefined, 10))!.notes;
    const next = newNote('next');
    await post(storage, name, next);
    const place = { ...first!, date: Date.now() + 2 * MAX_LAG_MS };
    t.same(ids(await storage.arrivals(feed, place, 10)), [next.id]);
  });

  test('after a note that is gone come those with later dates, and perhaps others', async (t, storage) => {
    const notes = [newNote('1'), newNote('2'), newNote('3')] as const;
    for (const note of notes) await post(storage, name, note);
    await edits(storage).remove(name, notes[1].id);
    const feed = (await storage.feed(name))!;
    const found = await storage.arrivals(feed, notes[1].id, 10);
    t.same(ids(found), [notes[2].id]);
    t.equal(found?.isComplete, false);
    await edits(storage).remove(name, notes[2].id);
    t.same(await storage.arrivals(feed, notes[2].id, 10), { notes: [], isComplete: false });
    const next = newNote('4');
    await post(storage, name, next);
    t.same(ids(await storage.arrivals(feed, notes[2].id, 10)), [next.id]);
    t.equal(await storage.arrivals(feed, 'no-date' as NoteId, 10), undefined);
  });

  test('notes that have expired, and those of another feed of the name, have not come', async (t, storage) => {
    const [first, last] = [newNote('1'), newNote('3')];
    await post(storage, name, first);
    await post(storage, name, newNote('2', 'md', { expires: Date.now() + 1, tags: [] }));
    await post(storage, name, last);
    const feed = (await storage.feed(name))!;
    t.same(ids(await storage.arrivals(feed, first.id, 10)), [last.id]);
    await edits(storage).deleteFeed(name);
    await post(storage, name, newNote('new'));
    t.same((await storage.arrivals(feed, undefined, 10))?.notes, []);
  });
}
