/** Which notes a query finds, as people read them: on the event loop or on threads, and what is kept of it. */
import t, { type Test } from 'tap';
import type { ReadId } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import { CpuLimit } from '../../src/read/cpu-limit.ts';
import { type Judgement, Matches, type NotesToJudge } from '../../src/read/matches.ts';
import { searchedNote } from '../../src/read/searched-note.ts';
import { findMatch } from '../../src/search/match.ts';
import { parseQuery } from '../../src/search/query.ts';
import { type RunOptions, TaskTimeout, WorkerPool } from '../../src/worker-pool.ts';
import { eventually } from '../support/eventually.ts';
import { pictureNote, unrenderedNote } from '../support/view-notes.ts';

const READ_ID = 'read-id' as ReadId;
const NO_LIMIT = 600_000;
/** Quotes in quotes, in fewer on each line: the parser's time doubles with each. */
const slow = (text: string) =>
  `${Array.from({ length: 30 }, (_, n) => `${'>'.repeat(30 - n)}a`).join('\n')}\n\n${text}`;
const long = (text: string) => text.padEnd(9_000);

type Run = (task: NotesToJudge, limit: RunOptions['limit']) => Promise<(Judgement | undefined)[]>;

/** @param run in place of the threads */
function matchesOf(t: Test, run?: Run) {
  const tasks: (NotesToJudge & { pool: string })[] = [];
  const poolOf = (name: string) => {
    const pool = new WorkerPool({ threads: 1, maxQueue: 100 });
    t.teardown(() => pool.drain());
    return {
      run: (work: string, task: NotesToJudge, options: RunOptions) => {
        tasks.push({ ...task, pool: name });
        return run ? run(task, options.limit) : pool.run(work, task, options);
      },
    } as unknown as WorkerPool;
  };
  const matches = new Matches({ parsing: poolOf('parsing'), slowParsing: poolOf('slowParsing') });
  const find = async (query: string, notes: readonly Note[], readId = READ_ID) =>
    (await matches.find(parseQuery(query), notes, readId)).map((match) => match?.text.trim());
  return { matches, find, tasks };
}

t.test('notes are judged as people read them', async (t) => {
  const { matches, tasks } = matchesOf(t);
  const notes = [
    unrenderedNote('in**ter**est'),
    unrenderedNote(long('see [here](https://interest.example)')),
    unrenderedNote('|a|b|\n|-|-|\n|interest|d|', { title: 'A table' }),
    pictureNote({ alt: 'Interest rates', name: 'a.png' }),
    unrenderedNote('none', { tags: ['interest'] }),
    unrenderedNote('interesting'),
  ];
  for (const text of ['interest', 'interest*', 'a table', 'here', '-interest a', 'zebra']) {
    const query = parseQuery(text);
    const expected = notes.map((note) => findMatch(query, searchedNote(note, new CpuLimit(NO_LIMIT))));
    t.same(await matches.find(query, notes, READ_ID), expected, text);
  }
  t.ok(tasks.length > 0);
  t.same(await matches.find(parseQuery('a'), [], READ_ID), []);
});

t.test('few short notes are judged on the event loop, others on threads', async (t) => {
  const { find, tasks } = matchesOf(t);
  t.same(await find('a', [unrenderedNote('*a*'), pictureNote({ alt: 'a' })]), ['a', 'a']);
  t.equal(tasks.length, 0);
  t.same(await find('b', [pictureNote({ alt: `b ${'c'.repeat(20_000)}` })]), [`b ${'c'.repeat(198)}`]);
  t.same(await find('a', [unrenderedNote('a '.repeat(300)), unrenderedNote(long('a'))]), [
    'a '.repeat(100).trim(),
    'a',
  ]);
  t.same(
    tasks.map(({ pool }) => pool),
    ['slowParsing', 'parsing', 'slowParsing'],
  );
});

t.test('a text is rendered once for all queries, until its note changes', async (t) => {
  const { find, tasks } = matchesOf(t);
  const note = unrenderedNote('a\n'.repeat(400), { alt: 'b' });
  const find3 = async () => [await find('a', [note]), await find('z', [note]), await find('a*', [note])];
  const first = await find3();
  t.equal(tasks.length, 1);
  t.same(await find3(), first);
  t.equal(tasks.length, 1);
  t.same(await find('z', [{ ...note, meta: { tags: ['z'] } }]), ['z'], 'another tag');
  t.same(await find('z', [{ ...note, content: Buffer.from('z\n'.repeat(300)) }]), ['z '.repeat(100).trim()]);
  t.same(await find('z', [note], 'other' as ReadId), [undefined]);
  t.equal(tasks.length, 4);
});

t.test('texts that are slow to render are judged as written, and remembered', async (t) => {
  const { find, tasks } = matchesOf(t);
  const note = unrenderedNote(slow('in**ter**est'));
  t.same(await find('interest', [note, unrenderedNote('interest '.repeat(50))]), [
    undefined,
    'interest '.repeat(22).trim(),
  ]);
  t.match(await find('"in ter est"', [note]), [/in\*\*ter\*\*est$/]);
  t.same(
    tasks.map(({ pool, isAsWritten }) => [pool, isAsWritten]),
    [
      ['parsing', false],
      ['parsing', false],
      ['slowParsing', false],
      ['slowParsing', true],
      ['slowParsing', true],
    ],
  );
});

t.test('one search tries only some slow texts', async (t) => {
  const { find, tasks } = matchesOf(t, async ({ notes, isAsWritten }) =>
    notes.map(() => (isAsWritten ? { match: { text: 'a', marks: [[0, 1]] } } : undefined)),
  );
  const notes = Array.from({ length: 10 }, (_, n) => unrenderedNote(long(`a ${n}`)));
  t.same(
    await find('a', notes),
    notes.map(() => 'a'),
  );
  t.equal(tasks.filter(({ isAsWritten }) => !isAsWritten).length, 4);
});

t.test(
  'a task that is ended is tried note by note, then as written; what that ends is not found',
  async (t) => {
    const { find, tasks } = matchesOf(t, async (_, limit) => {
      throw new TaskTimeout(limit!);
    });
    const notes = ['a', 'b'].map((text) => unrenderedNote(text.padEnd(500, ' a')));
    t.same(await find('a', notes), [undefined, undefined]);
    t.same(
      tasks.map(({ notes }) => notes.length),
      [2, 1, 1, 1, 1],
    );
  },
);

t.test('failures of another kind are thrown', async (t) => {
  const { find } = matchesOf(t, async () => {
    throw new Error('died');
  });
  await t.rejects(find('a', [unrenderedNote(long('a'))]), { message: 'died' });
});

t.test('one feed has one task at a time, so that others are judged meanwhile', async (t) => {
  const held: (() => void)[] = [];
  const { find, tasks } = matchesOf(t, ({ notes }) => {
    const { promise, resolve } = Promise.withResolvers<Judgement[]>();
    held.push(() => resolve(notes.map(() => ({ match: { text: 'a', marks: [[0, 1]] } }))));
    return promise;
  });
  const note = unrenderedNote('a '.repeat(300));
  const flood = ['a', 'a*', '"a a"', '"a a a"'].map((query) => find(query, [note]));
  const other = find('a', [note], 'other' as ReadId);
  t.ok(await eventually(async () => tasks.length === 2));
  held[1]!();
  t.same(await other, ['a']);
  t.equal(tasks.length, 2);
  held[0]!();
  for (const [n, found] of flood.entries()) {
    t.same(await found, ['a']);
    if (n === flood.length - 1) break;
    t.ok(await eventually(async () => held.length === n + 3));
    held[n + 2]!();
  }
});
