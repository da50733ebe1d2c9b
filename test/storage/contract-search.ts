import { setTimeout as delay } from 'node:timers/promises';
import type { AdmittedFeed } from '../../src/feeds/feed.ts';
import { NoteIds } from '../../src/feeds/ids.ts';
import type { FeedName, NoteId } from '../../src/feeds/names.ts';
import type { NewNote, Note, NoteMeta } from '../../src/feeds/note.ts';
import type { Position } from '../../src/feeds/order.ts';
import { CpuLimit } from '../../src/read/cpu-limit.ts';
import { searchedNote } from '../../src/read/searched-note.ts';
import { onRefusal } from '../../src/refusals.ts';
import { findMatch } from '../../src/search/match.ts';
import { parseQuery } from '../../src/search/query.ts';
import type { FoundPage, NoteSearch, Storage } from '../../src/storage/storage.ts';
import { toFeed } from '../../src/writing/command.ts';
import { edits, NO_LIMITS, post } from '../support/storing.ts';
import { type Backend, newNote, runner } from './contract.ts';
import { configure, name, other, readId, reopened } from './contract-support.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Of a note to be rendered, ms. */
const LIMIT_MS = 10_000;
/** Between two looks whether the index is current, ms. */
const AGAIN_MS = 10;

type Asked = Partial<Omit<NoteSearch, 'query'>>;

/** A page of the index. It is asked for again while the answer is `busy`, which a busy machine gives now and then. */
async function anyPage(storage: Storage, admitted: AdmittedFeed, search: NoteSearch): Promise<FoundPage> {
  for (;;) {
    const page = await onRefusal(
      () => storage.search!(admitted, search),
      (refusal) => {
        if (refusal.code !== 'busy') throw refusal;
      },
    );
    if (page !== undefined) return page;
    await delay(AGAIN_MS);
  }
}

/** A page of the index once all that was stored before is in it. */
async function currentPage(storage: Storage, feed: FeedName, search: NoteSearch): Promise<FoundPage> {
  for (;;) {
    const admitted = (await storage.feed(feed)) ?? { name: feed, key: '0' };
    const page = await anyPage(storage, admitted, search);
    if (page.isCurrent) return page;
    await delay(AGAIN_MS);
  }
}

const isFound = (q: string, note: Note) =>
  findMatch(parseQuery(q), searchedNote(note, new CpuLimit(LIMIT_MS))) !== undefined;

/** The notes that a query finds, page by page, as the world above judges what the index has. */
export async function found(storage: Storage, feed: FeedName, q: string, asked: Asked = {}): Promise<Note[]> {
  const search = { query: parseQuery(q), limit: 100, ...asked };
  const notes: Note[] = [];
  for (let before: Position | undefined = asked.before; ; ) {
    const page = await currentPage(storage, feed, { ...search, before });
    notes.push(...page.notes.filter((note) => isFound(q, note)));
    if (page.next === undefined) return notes;
    before = page.next;
  }
}

/** The texts that a query finds; of pictures their alternative texts. */
export async function textsFound(storage: Storage, feed: FeedName, q: string, asked: Asked = {}) {
  const notes = await found(storage, feed, q, asked);
  return notes.map(({ content, meta }) => (content ? Buffer.from(content).toString() : meta.alt));
}

/** A text of some days ago. */
function aged(days: number, text: string, meta: NoteMeta = { tags: [] }): NewNote {
  return { ...newNote(text, 'md', meta), id: new NoteIds(() => Date.now() - days * DAY_MS).next() };
}

/** What every storage backend that has an index must find. */
export function testSearch(backend: Backend): void {
  const test = runner(backend);

  test('words, phrases, beginnings and words that must not be there find notes, newest first', async (t, storage) => {
    const tagged = (text: string, ...tags: string[]) => newNote(text, 'md', { tags });
    const notes = [
      tagged('Der Wald rauscht', 'natur'),
      tagged('die *Wälder* rauschen leise', 'natur', 'ton'),
      newNote('Straße und Café, 1.5 km', 'md', { title: 'Größe', tags: [] }),
      newNote('[leise](https://example.org/hidden) singen'),
      newNote('東京タワーに行った。'),
      newNote('# Überschrift\n\nrauschen\n\nleise'),
      newNote('p', 'png', { alt: 'leise Töne', name: 'DSC_0042.png', tags: ['ton'] }),
      newNote('ประเทศไทย'),
      newNote('<b>kein</b> Zeichen \\*escaped\\* a&amp;b'),
    ];
    for (const note of notes) await post(storage, name, note);
    const texts = notes.map(({ bytes, meta }) => meta.alt ?? Buffer.from(bytes).toString());
    const finds = async (q: string, ...which: number[]) =>
      t.same(
        await textsFound(storage, name, q),
        which.toReversed().map((n) => texts[n]),
        q,
      );
    await finds('wald', 0);
    await finds('WALDER', 1);
    await finds('wäld*', 0, 1);
    await finds('wald*', 0, 1);
    await finds('rauschen leise', 1, 5);
    await finds('"leise rauschen"');
    await finds('"rauschen leise"', 1, 5);
    await finds('"rauschen leis*"', 1, 5);
    await finds('"rauschen leis"*', 1, 5);
    await finds('leise', 1, 3, 5, 6);
    await finds('leise -rauschen', 3, 6);
    await finds('leise -"rauschen leise"', 3, 6);
    await finds('leise -tone*', 1, 3, 5);
    await finds('r* ra* rau* rauschen*', 1, 5);
    await finds('l* le* -rau* -rausche* -rauschen*', 3, 6);
    await finds('strasse', 2);
    await finds('STRASSE cafe', 2);
    await finds('1.5', 2);
    await finds('große', 2);
    await finds('hidden');
    await finds('東京', 4);
    await finds('京タ', 4);
    await finds('京都');
    await finds('ไทย', 7);
    await finds('dsc_0042', 6);
    await finds('ton', 1, 6);
    await finds('escaped', 8);
    await finds('a&b', 8);
    await finds('nirgends');
    await finds('OR AND NEAR NOT');
    await finds('(wald) OR');
    await finds('#natur', 0, 1);
    t.same(await textsFound(storage, name, 'leise', { tag: 'ton' }), [texts[6], texts[1]]);
    t.same(await textsFound(storage, name, 'leise', { tag: 'to' }), []);
    t.same(await textsFound(storage, name, 'rausch*', { tag: 'natur' }), [texts[1], texts[0]]);
    t.same(await textsFound(storage, other, 'wald'), [], 'there is no such feed');
  });

  test('pages of hits meet without gap or overlap, and dates limit them', async (t, storage) => {
    const notes = Array.from({ length: 60 }, (_, n) => aged(60 - n, n % 2 === 0 ? `even ${n}` : `odd ${n}`));
    await post(storage, name, notes);
    const even = notes.filter((_, n) => n % 2 === 0).toReversed();
    const ids = (some: readonly { id: NoteId }[]) => some.map(({ id }) => id);
    for (const limit of [1, 7, 30, 100])
      t.same(ids(await found(storage, name, 'even', { limit })), ids(even));
    const all = await found(storage, name, 'even');
    const { createdAt: to } = all[10]!;
    const { createdAt: from } = all[20]!;
    t.same(ids(await found(storage, name, 'even', { from, to, limit: 3 })), ids(even.slice(10, 21)));
    t.same(ids(await found(storage, name, 'even', { from: to + 1 })), ids(even.slice(0, 10)));
    t.same(ids(await found(storage, name, 'even', { to: from - 1 })), ids(even.slice(21)));
    t.same(ids(await found(storage, name, 'even', { from: to, to: from })), []);
  });

  test('many notes of one moment are found page by page', async (t, storage) => {
    const createdAt = Date.UTC(2020, 1, 2);
    const notes = Array.from({ length: 50 }, (_, n) => ({
      ...newNote('same', n % 5 === 0 ? 'png' : 'md', { title: 'same', tags: [] }),
      id: `n${(n * 7) % 50}` as NoteId,
      createdAt,
    }));
    await post(storage, name, newNote('first'));
    const feed = (await storage.feed(name))!;
    await storage.write({ kind: 'import', ...toFeed(feed), notes, limits: NO_LIMITS });
    const sorted = notes
      .map(({ id }) => id)
      .sort()
      .toReversed();
    for (const limit of [1, 8, 100])
      t.same(
        (await found(storage, name, 'same', { limit })).map(({ id }) => id),
        sorted,
        `${limit}`,
      );
  });

  test('what was edited is found as it is now', async (t, storage) => {
    const text = newNote('before', 'md', { title: 'heading', tags: ['one'] });
    const picture = newNote('p', 'png', { alt: 'before', tags: [] });
    for (const note of [text, picture, newNote('kept')]) await post(storage, name, note);
    t.equal((await found(storage, name, 'before')).length, 2);
    await edits(storage).replace(name, text.id, Buffer.from('after'));
    t.same(await textsFound(storage, name, 'before'), ['before']);
    t.same(await textsFound(storage, name, 'after'), ['after']);
    t.same(await textsFound(storage, name, 'heading', { tag: 'one' }), ['after']);
    await edits(storage).describe(name, picture.id, { alt: 'after', tags: ['two'] });
    await edits(storage).describe(name, text.id, { title: '', tags: ['two'] });
    t.same(await textsFound(storage, name, 'after', { tag: 'two' }), ['after', 'after']);
    for (const q of ['before', 'heading', 'one']) t.same(await textsFound(storage, name, q), [], q);
    t.same(await textsFound(storage, name, 'after', { tag: 'one' }), []);
  });

  test('what is gone or hidden by an edit is not found from that answer on', async (t, storage) => {
    const notes = Array.from({ length: 20 }, (_, n) => newNote(`word ${n}`, 'md', { tags: ['t'] }));
    await post(storage, name, notes);
    t.equal((await found(storage, name, 'word', { tag: 't' })).length, 20);
    const search = { query: parseQuery('word'), limit: 100, tag: 't' };
    const now = async () => {
      const page = await anyPage(storage, (await storage.feed(name))!, search);
      return page.notes.filter((note) => isFound('word', note)).map(({ id }) => id);
    };
    for (const [n, { id }] of notes.entries()) {
      if (n % 4 === 0) await edits(storage).remove(name, id);
      if (n % 4 === 1) await edits(storage).replace(name, id, Buffer.from('other'));
      if (n % 4 === 2) await edits(storage).describe(name, id, { tags: [] });
      if (n % 4 === 3) await edits(storage).describe(name, id, { expires: Date.now() - 1 });
      t.notOk((await now()).includes(id), `${n}`);
    }
    t.same(await found(storage, name, 'word', { tag: 't' }), []);
    t.equal((await found(storage, name, 'other')).length, 5);
    t.equal((await found(storage, name, 'word')).length, 5);
  });

  test('expired notes are not found, before they are removed and after', async (t, storage, place) => {
    const at = (expires: number): NoteMeta => ({ tags: [], expires });
    await post(storage, name, newNote('over', 'md', at(Date.now() - DAY_MS)));
    await post(storage, name, newNote('will be over', 'md', at(Date.now() + DAY_MS)));
    t.same(await textsFound(storage, name, 'over'), ['will be over']);
    await storage.write({ kind: 'sweep', ...toFeed((await storage.feed(name))!) });
    t.same(await textsFound(storage, name, 'over'), ['will be over']);
    const again = await reopened(t, storage, place);
    t.same(await textsFound(again, name, 'over'), ['will be over']);
  });

  test('feeds with the same words find only their own notes', async (t, storage) => {
    for (let n = 0; n < 10; n += 1) {
      await post(storage, name, newNote(`shared one ${n}`, 'md', { tags: ['t'] }));
      await post(storage, other, newNote(`shared two ${n}`, 'md', { tags: ['t'] }));
    }
    t.equal((await found(storage, name, 'shared')).length, 10);
    t.same(await found(storage, name, 'two'), []);
    t.equal((await found(storage, other, 'sh*', { tag: 't', limit: 3 })).length, 10);
    t.same(await found(storage, other, 'one'), []);
  });

  test('a deleted feed finds nothing, nor does a new one of its name find what was in it', async (t, storage) => {
    await post(storage, name, newNote('old shared'));
    await post(storage, name, newNote('old alone'));
    t.equal((await found(storage, name, 'old')).length, 2);
    const feed = (await storage.feed(name))!;
    await edits(storage).deleteFeed(name);
    const search = { query: parseQuery('old'), limit: 10 };
    t.same((await anyPage(storage, feed, search)).notes, []);
    t.same(await found(storage, name, 'old'), []);
    await post(storage, name, newNote('new shared'));
    t.same(await textsFound(storage, name, 'shared'), ['new shared']);
    t.same(await textsFound(storage, name, 'old'), []);
    t.same((await anyPage(storage, feed, search)).notes, [], 'it is another feed');
    await post(storage, name, newNote('new alone'));
    t.same(await textsFound(storage, name, 'alone'), ['new alone']);
  });

  test('a changed read id, title or password changes nothing that is found', async (t, storage) => {
    const feed = await post(storage, name, newNote('word'));
    t.same(await textsFound(storage, name, 'word'), ['word']);
    await configure(storage, name, { readId: readId('another'), title: 'word' });
    t.same(await textsFound(storage, name, 'word'), ['word']);
    await edits(storage).setPassword(name, 'x');
    t.same((await anyPage(storage, feed, { query: parseQuery('word'), limit: 1 })).notes.length, 1);
    await post(storage, name, newNote('word again'));
    t.same(await textsFound(storage, name, 'word'), ['word again', 'word']);
  });

  test('imported notes are found at their dates, between notes that are there', async (t, storage) => {
    await post(storage, name, [aged(30, 'word 30'), aged(10, 'word 10')]);
    t.equal((await found(storage, name, 'word')).length, 2);
    const feed = (await storage.feed(name))!;
    const by = (days: number, id: string) => ({
      ...newNote(`word ${days}`),
      id: id as NoteId,
      createdAt: Date.now() - days * DAY_MS,
    });
    const notes = [aged(20, 'word 20'), by(25, 'by hand'), aged(40, 'word 40'), by(21_000, 'before 1970')];
    await storage.write({ kind: 'import', ...toFeed(feed), notes, limits: NO_LIMITS });
    const all = ['word 10', 'word 20', 'word 25', 'word 30', 'word 40', 'word 21000'];
    t.same(await textsFound(storage, name, 'word'), all);
    t.same(await textsFound(storage, name, 'word', { limit: 1 }), all);
    t.same(await textsFound(storage, name, 'word', { to: 0 }), ['word 21000']);
  });

  test('notes of another start are found', async (t, storage, place) => {
    await post(storage, name, newNote('one', 'md', { tags: ['t'] }));
    t.same(await textsFound(storage, name, 'one'), ['one']);
    await post(storage, name, newNote('one more'));
    const again = await reopened(t, storage, place);
    t.same(await textsFound(again, name, 'one'), ['one more', 'one']);
    await edits(again).deleteFeed(name);
    const last = await reopened(t, again, place);
    await post(last, name, newNote('two'));
    t.same(await textsFound(last, name, 'one'), []);
    t.same(await textsFound(last, name, 'two'), ['two']);
  });

  test('long texts are found page by page', async (t, storage) => {
    const notes = Array.from({ length: 30 }, (_, n) => newNote(`word ${n} ${'x '.repeat(40_000)}`));
    for (const note of notes) await post(storage, name, note);
    t.same(
      (await found(storage, name, 'word')).map(({ id }) => id),
      notes.map(({ id }) => id).toReversed(),
    );
  });

  test('texts that are slow to read are all found, also if they come together', async (t, storage) => {
    await post(storage, name, newNote('first'));
    await found(storage, name, 'first');
    const quotes = Array.from({ length: 26 }, (_, n) => `${'>'.repeat(26 - n)}a`).join('\n');
    // Each takes the thread that reads it for as long as a thread may hang.
    await Promise.all(
      ['slow 1', 'slow 2'].map((text) => post(storage, name, newNote(`${text}\n\n${quotes}`))),
    );
    t.equal((await found(storage, name, 'slow')).length, 2);
  });

  test('a write is found within a second, also beside many others', async (t, storage) => {
    await post(storage, name, newNote('first'));
    await found(storage, name, 'first');
    for (let n = 0; n < 10; n += 1) {
      const word = `word${n}`;
      const others = Array.from({ length: 20 }, () => post(storage, other, newNote('another')));
      await post(storage, name, newNote(word));
      const begunAt = performance.now();
      t.equal((await found(storage, name, word)).length, 1);
      t.comment(`found after ${Math.round(performance.now() - begunAt)} ms`);
      await Promise.all(others);
    }
    t.equal((await found(storage, other, 'another')).length, 200);
  });
}
