/** What a search finds after a change, on every storage: nothing old from its answer on, what is new within a second. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { q, search, untilFound } from '../support/searching.ts';
import { start } from '../support/service.ts';

const { SERVICE_STORAGE } = process.env;
const BACKENDS = SERVICE_STORAGE === undefined ? ['fs', 'sqlite', 'postgres'] : [SERVICE_STORAGE];

for (const storage of BACKENDS)
  t.test(storage, async (t) => {
    process.env.SERVICE_STORAGE = storage;
    const { url } = await start(t);
    await t.test('changes of notes and feeds', (t) => changes(t, url));
    await t.test('feeds of the same words', () => manyFeeds(url));
  });

/** Everything that shows hits. Some is cached. */
function viewsOf(url: string, name: string, readId: string): string[] {
  const lists = [`/api/v1/feeds/${name}/notes`, `/api/v1/read/${readId}/notes`];
  return [...lists, `/r/${readId}/feed.xml`, `/r/${readId}`, `/${name}`].map((path) => url + path);
}

async function changes(t: Test, url: string): Promise<void> {
  const feed = new FeedClient(url, 'changing');
  const { id, read_url } = (await feed.post('alpha', { 'x-note-tags': 'gamma', 'x-note-title': 'delta' }))
    .json;
  const list = `${feed.record}/notes`;
  let views = viewsOf(url, 'changing', readIdIn(read_url));
  const isFound = async (view: string, query: string) => (await search(view, q(query))).text.includes(id);
  const isNowhere = async (query: string, what: string) => {
    for (const view of views) t.notOk(await isFound(view, query), `${what}: ${view}`);
  };
  const isEverywhere = async (query: string) => {
    await untilFound(list, q(query), 1);
    // Again, so that some come from the cache.
    for (const view of [...views, ...views]) t.ok(await isFound(view, query), `${query}: ${view}`);
  };
  for (const word of ['alpha', 'gamma', 'delta']) await isEverywhere(word);

  await feed.put(`/notes/${id}`, 'epsilon');
  await isNowhere('alpha', 'an edited text');
  await isEverywhere('epsilon');

  await feed.send('PATCH', `/notes/${id}`, '{"title":"zeta","tags":["eta"]}');
  for (const word of ['gamma', 'delta']) await isNowhere(word, 'edited metadata');
  for (const word of ['zeta', 'eta']) await isEverywhere(word);

  const old = views;
  await feed.set({ read_id: `chosen-${Date.now().toString(36)}` });
  views = old.filter((view) => view.includes('/r') && !view.includes('changing'));
  await isNowhere('epsilon', 'the old read id');
  views = viewsOf(url, 'changing', readIdIn((await feed.get()).json.read_url));
  await isEverywhere('epsilon');

  const expires = new Date(Date.now() + 2_000).toISOString();
  await feed.send('PATCH', `/notes/${id}`, JSON.stringify({ expires }));
  await eventually(async () => {
    for (const view of views) {
      const askedAt = Date.now();
      const isThere = await isFound(view, 'epsilon');
      if (askedAt >= Date.parse(expires)) t.notOk(isThere, `expired: ${view}`);
    }
    return Date.now() > Date.parse(expires);
  });
  await isNowhere('epsilon', 'expired');

  const gone = (await feed.post('theta')).json.id;
  const left = (await feed.post('iota')).json.id;
  await untilFound(list, q('theta'), 1);
  for (const view of views) await search(view, q('theta'));
  await feed.send('DELETE', `/notes/${gone}`);
  for (const view of views) t.notOk((await search(view, q('theta'))).text.includes(gone), `deleted: ${view}`);

  await untilFound(list, q('iota'), 1);
  await feed.delete();
  for (const view of views)
    t.notOk((await search(view, q('iota'))).text.includes(left), `deleted feed: ${view}`);
  await feed.post('kappa');
  t.same((await search(list, q('iota'))).json.notes, [], 'a later feed of the name');
  await untilFound(list, q('kappa'), 1);
}

const WORDS = ['red', 'fox', 'blue', 'hare', 'old', 'owl'];
const FEEDS = 8;

/** Writes to feeds that share all their words: whatever a search finds is in its feed, and matches now. */
async function manyFeeds(url: string): Promise<void> {
  const words = fc.uniqueArray(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 4 });
  const write = fc.record({
    feed: fc.nat({ max: FEEDS - 1 }),
    kind: fc.constantFrom('post', 'post', 'edit', 'delete'),
    which: fc.nat({ max: 9 }),
    words,
  });
  const query = fc.record({
    all: fc.uniqueArray(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 2 }),
    none: fc.constantFrom(undefined, ...WORDS),
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(write, { minLength: 20, maxLength: 40 }),
      fc.array(query, { minLength: 3, maxLength: 5 }),
      async (writes, queries) => {
        run += 1;
        const feeds = Array.from({ length: FEEDS }, (_, n) => new FeedClient(url, `many-${run}-${n}`));
        const notes = feeds.map(() => new Map<string, readonly string[]>());
        const hits = async (n: number, { all, none }: (typeof queries)[number]) => {
          const text = [...all, ...(none === undefined ? [] : [`-${none}`])].join(' ');
          const { status, json } = await search(`${feeds[n]!.record}/notes`, `${q(text)}&limit=100`);
          assert.equal(status, 200);
          return new Set<string>(json.notes.map((note: { id: string }) => note.id));
        };
        const expected = (n: number, { all, none }: (typeof queries)[number]) =>
          new Set(
            [...notes[n]!]
              .filter(([, has]) => all.every((word) => has.includes(word)) && !has.includes(none ?? ''))
              .map(([id]) => id),
          );
        for (const [step, { feed: n, kind, which, words }] of writes.entries()) {
          const [feed, own] = [feeds[n]!, notes[n]!];
          const id = [...own.keys()][which % Math.max(1, own.size)];
          if (kind === 'post' || id === undefined) own.set((await feed.post(words.join(' '))).json.id, words);
          else if (kind === 'edit') {
            await feed.put(`/notes/${id}`, words.join(' '));
            own.set(id, words);
          } else {
            await feed.send('DELETE', `/notes/${id}`);
            own.delete(id);
          }
          const asked = queries[step % queries.length]!;
          const right = expected(n, asked);
          for (const hit of await hits(n, asked)) assert(right.has(hit), 'a hit that is none now');
        }
        for (const n of feeds.keys())
          for (const asked of queries) {
            const right = expected(n, asked);
            const isRight = await eventually(async () => {
              const found = await hits(n, asked);
              return found.size === right.size && [...found].every((id) => right.has(id));
            });
            assert(isRight, `${JSON.stringify(asked)} does not find all of feed ${n}`);
          }
      },
    ),
    { numRuns: 4 },
  );
  // Feeds beside each other still have notes of the same words.
  assert.equal((await search(`${url}/api/v1/feeds/many-1-none/notes`, q('red'))).json.notes.length, 0);
}
