import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import type { NewNote } from '../../src/feeds/note.ts';
import { findMatch } from '../../src/search/match.ts';
import { parseQuery } from '../../src/search/query.ts';
import { tokensOf, tsqueryOf } from '../../src/storage/postgres/note-tokens.ts';
import type { NoteSearch, Storage } from '../../src/storage/storage.ts';
import { startContainers } from '../support/containers.ts';
import { times } from '../support/effort.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { post as postHttp } from '../support/service.ts';
import { edits, post } from '../support/storing.ts';
import { newNote } from './contract.ts';
import { keptLog } from './files-support.ts';
import { opened } from './postgres-support.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);
const name = 'feed' as FeedName;

interface Found {
  readonly texts: readonly string[];
  readonly next: NoteSearch['before'];
}

/** What a search finds when the index has all of the feed. */
async function found(
  storage: Storage,
  q: string,
  search: Partial<NoteSearch> = {},
  of: FeedName = name,
): Promise<Found> {
  const feed = (await storage.feed(of))!;
  let result: Found | undefined;
  await eventually(async () => {
    const page = await storage.search!(feed, { limit: 100, ...search, query: parseQuery(q) }).catch(
      (error) => {
        if (error.code !== 'busy') throw error;
      },
    );
    if (page?.isCurrent)
      result = {
        texts: page.notes.map(({ content }) => Buffer.from(content ?? '').toString()),
        next: page.next,
      };
    return result !== undefined;
  });
  return result!;
}

/** Says that a statement of the test was the one that the server ended, or throws what else was wrong. */
function whenDeadlocked(error: { code?: string }): false {
  if (error.code !== '40P01') throw error;
  return false;
}

async function finds(t: Test, storage: Storage, q: string, texts: readonly string[], of?: FeedName) {
  t.same((await found(storage, q, {}, of)).texts, texts, q);
}

/** Notes that are stored as any program could, without the service. */
function insertByHand(url: string, count: number): Promise<unknown> {
  return server.sql(
    url,
    `INSERT INTO notes (feed, id, type, created_at, modified_at, size, content)
     SELECT feeds.id, 'note-' || n, 0, n, n, 20, convert_to('many n' || n, 'UTF8') FROM feeds, generate_series(1, $1::integer) AS n
     WHERE name = 'feed'`,
    [count],
  );
}

t.test('notes are found by their words, newest first', async (t) => {
  const storage = await opened(t, await server.database(), { search: true });
  for (const text of ['Ein *Café* am Meer', '東京タワーへ行く', 'a cafeteria'])
    await post(storage, name, newNote(text));
  await post(storage, 'other' as FeedName, newNote('cafe'));
  await finds(t, storage, 'cafe', ['Ein *Café* am Meer']);
  await finds(t, storage, 'CAFE*', ['a cafeteria', 'Ein *Café* am Meer']);
  for (const part of ['東', '京タ', 'く', '東京タワーへ行く'])
    await finds(t, storage, part, ['東京タワーへ行く']);
  await finds(t, storage, 'cafe* -meer', ['a cafeteria']);
  await finds(t, storage, `none' | 'cafe`, []);
});

t.test('the text of an index query finds at least what is a match', async (t) => {
  const storage = await opened(t, await server.database(), { search: true });
  const url = await server.database();
  const piece = fc.constantFrom(
    'a',
    'ab',
    'ǅ',
    'é',
    '東',
    '京',
    'กิ',
    'ก',
    '㊀',
    '👍',
    ' ',
    ' ',
    '-',
    '*',
    '"',
    "'",
    '\\',
    '|',
  );
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
  const samples = fc.sample(fc.tuple(text, text, text, text), { numRuns: 3000, seed: 7 });
  const cases = samples.flatMap(([text, title, tag, q]) => {
    const note = { text, title, alt: '', name: '', tags: tag.trim() === '' ? [] : [tag.trim()] };
    try {
      const query = parseQuery(q);
      return [
        {
          note,
          q,
          tokens: tokensOf(note),
          query: tsqueryOf({ query }),
          isMatch: findMatch(query, note) !== undefined,
        },
      ];
    } catch {
      return [];
    }
  });
  const rows = await server.sql(
    url,
    `SELECT array_to_tsvector(string_to_array(tokens, E'\\n')) @@ query::tsquery AS is_found
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS one (tokens, query, n) ORDER BY n`,
    [cases.map(({ tokens }) => tokens), cases.map(({ query }) => query)],
  );
  t.ok(cases.filter(({ isMatch }) => isMatch).length > 100);
  t.same(
    cases.filter(({ isMatch }, n) => isMatch && rows[n]!.is_found !== true),
    [],
  );
  t.ok(storage);
});

t.test('pages, tags and dates', async (t) => {
  const url = await server.database();
  const storage = await opened(t, url, { search: true });
  const tagged = (text: string, ...tags: string[]): NewNote => newNote(text, 'md', { tags });
  await post(storage, name, [tagged('first word', 'a'), tagged('second word', 'b')]);
  t.same((await found(storage, 'word', { tag: 'a' })).texts, ['first word']);
  t.same((await found(storage, 'word', { tag: 'none' })).texts, []);
  await insertByHand(url, 2_500);
  const page = await found(storage, 'many', { limit: 2 });
  t.same(page.texts, ['many n2500', 'many n2499']);
  t.same((await found(storage, 'many', { limit: 2, before: page.next })).texts, ['many n2498', 'many n2497']);
  t.same((await found(storage, 'many', { from: 7, to: 8 })).texts, ['many n8', 'many n7']);
  t.same(await found(storage, 'n3'), { texts: ['many n3'], next: undefined });
  t.same((await found(storage, 'many', { limit: 3, to: 4 })).next?.createdAt, 2);
});

t.test('what changes is found as it is, whoever changes it', async (t) => {
  const url = await server.database();
  const storage = await opened(t, url, { search: true });
  const notes = ['one', 'two', 'three', 'four'].map((text) => newNote(`${text} note`));
  for (const note of notes) await post(storage, name, note);
  await finds(t, storage, 'note', ['four note', 'three note', 'two note', 'one note']);
  await edits(storage).replace(name, notes[0]!.id, Buffer.from('uno note'));
  await edits(storage).remove(name, notes[1]!.id);
  await server.sql(url, `UPDATE notes SET content = 'tres note' WHERE id = $1`, [notes[2]!.id]);
  await server.sql(url, 'UPDATE notes SET created_at = 5 WHERE id = $1', [notes[3]!.id]);
  await finds(t, storage, 'note', ['tres note', 'uno note', 'four note']);
  for (const gone of ['one', 'two', 'three']) await finds(t, storage, gone, []);
  await finds(t, storage, 'tres', ['tres note']);
  await server.sql(url, 'DELETE FROM notes');
  await finds(t, storage, 'note', []);
  await eventually(
    async () => Number((await server.sql(url, 'SELECT count(*) FROM note_words'))[0]!.count) === 1,
  );
});

t.test('of a note with more words than fit, the first are found', async (t) => {
  const storage = await opened(t, await server.database(), { search: true });
  await post(storage, name, newNote('short'));
  await finds(t, storage, 'short', ['short']);
  const words = Array.from({ length: 300_000 }, (_, n) => `é${n.toString(36)}`);
  await post(storage, name, newNote(words.join(' ')));
  for (const word of words.slice(0, 2)) t.equal((await found(storage, word)).texts.length, 1, word);
  await finds(t, storage, 'short', ['short']);
});

t.test('notes that were there before are found, and nothing is left when there is no search', async (t) => {
  const url = await server.database();
  const tables = async () =>
    (await server.sql(url, `SELECT FROM pg_class WHERE relname ~ 'words'`)).length +
    (await server.sql(url, `SELECT FROM pg_trigger WHERE tgname ~ 'words'`)).length;
  for (const text of ['before', 'between']) {
    const without = await opened(t, url);
    t.equal(without.search, undefined);
    t.equal(await tables(), 0);
    await post(without, name, newNote(`${text} it`));
    await without.close();
    const storage = await opened(t, url, { search: true });
    await finds(t, storage, text, [`${text} it`]);
    await storage.close();
  }
  const storage = await opened(t, url, { search: true });
  await finds(t, storage, 'it', ['between it', 'before it']);
});

t.test('a user who may not make tables has everything but a search', async (t) => {
  const url = await server.database();
  await (await opened(t, url)).close();
  await server.sql(url, 'CREATE ROLE writer LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO writer');
  const log = keptLog();
  const storage = await opened(t, url.replace('postgres@', 'writer@'), { search: true, log });
  t.equal(storage.search, undefined);
  t.match(log.lines, [/may not make the tables and triggers of the search/]);
  t.ok(await post(storage, name, newNote('stored')));
});

t.test('what is emptied or dropped by hand is made again, and posts go on', async (t) => {
  const url = await server.database();
  const storage = await opened(t, url, { search: true });
  await post(storage, name, newNote('note 0'));
  const texts = ['note 0'];
  for (const statement of [
    'TRUNCATE note_words',
    'TRUNCATE words_to_make',
    'TRUNCATE note_words_state',
    'DROP INDEX note_words_by_word',
    'DROP TABLE words_to_make',
    'DROP TABLE note_words',
    'DROP TABLE note_words_state',
    'DROP TABLE note_words, words_to_make, note_words_state',
  ]) {
    await finds(t, storage, 'note', texts);
    // A statement that locks several tables can meet the makers of words in a deadlock.
    await eventually(() => server.sql(url, statement).then(() => true, whenDeadlocked));
    texts.unshift(`note ${texts.length}`);
    await post(storage, name, newNote(texts[0]!));
    await finds(t, storage, 'note', texts);
  }
});

t.test('one container of several makes the words, and another one when that is killed', async (t) => {
  const url = await server.database();
  const holder = async () =>
    (await server.sql(url, 'SELECT holder FROM note_words_state WHERE until > 0'))[0]?.holder;
  let services = await startContainers(t, url, [{}, {}]);
  let posted = 0;
  for (let n = 0; n < times(4, 40); n += 1) {
    const [victim, other] = [services[n % 2]!, services[(n + 1) % 2]!];
    const killed = eventually(async () => posted >= n * 20 + 10).then(() => victim.kill('SIGKILL'));
    for (const end = posted + 20; posted < end; posted += 1)
      t.equal((await postHttp(`${other.url}/feed`, `word n${posted}`)).status, 201);
    await killed;
    const restarted = (await startContainers(t, url, [{}]))[0]!;
    services = services.map((one) => (one === victim ? restarted : one));
  }
  const storage = await opened(t, url, { search: true });
  await eventually(async () => (await holder()) !== undefined);
  for (let n = 0; n < posted; n += 1) await finds(t, storage, `n${n}`, [`word n${n}`]);
  await Promise.all(services.map((one) => one.kill('SIGTERM')));
});
