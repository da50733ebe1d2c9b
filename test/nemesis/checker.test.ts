/** The checker: histories that keep the promises, and the smallest that break each. Times are in ms. */
import t from 'tap';
import { check, type Promises } from './checker.ts';
import { History, type Operation, outcomeOf, type Read, type Write } from './history.ts';

const PROMISES: Promises = { staleMs: { healthy: 1_000, cutOff: 2_000 }, caps: { text: 2, picture: 1 } };

type At = readonly [invokedAt: number, completedAt: number];

function spanOf([invokedAt, completedAt]: At, container: number, status: number) {
  return { feed: 'feed', container, invokedAt, completedAt, status };
}

/** A post of note `id`; without one it was not answered so. */
function post(at: At, value: string, id?: string, status = id ? 201 : 503, more: Partial<Write> = {}): Write {
  const code = status === 503 ? 'store_unavailable' : undefined;
  const about = { kind: 'post', value, note: id, medium: 'text', code, outcome: outcomeOf(status) } as const;
  return { ...spanOf(at, 0, status), ...about, ...more };
}

function edit(at: At, value: string, status = 200, more: Partial<Write> = {}): Write {
  const code = status === 503 ? 'store_unavailable' : undefined;
  const about = { kind: 'edit', value, note: 'a', medium: 'text', code, outcome: outcomeOf(status) } as const;
  return { ...spanOf(at, 0, status), ...about, ...more };
}

function deletion(at: At, status = 204, more: Partial<Write> = {}): Write {
  return { ...spanOf(at, 0, status), kind: 'deletion', note: 'a', outcome: outcomeOf(status), ...more };
}

/** A read of another container than the one that writes. */
function read(at: At, values: Record<string, string | null>, more: Partial<Read> = {}): Read {
  const about = { kind: 'read', view: 'list', start: 0, isWhole: false } as const;
  return { ...spanOf(at, 1, 200), ...about, values: new Map(Object.entries(values)), ...more };
}

const whole = { isWhole: true };
const A = post([0, 10], 'one', 'a');

const cases: [what: string, rule: RegExp | undefined, ...Operation[]][] = [
  ['a note is shown', undefined, A, read([20, 30], { a: 'one' }, whole)],
  ['an old value within its time', undefined, A, edit([20, 30], 'two'), read([1_029, 1_040], { a: 'one' })],
  ['an old value', /1001 ms after/, A, edit([20, 30], 'two'), read([1_031, 1_040], { a: 'one' })],
  [
    'an old value where it was overwritten',
    /after it was overwritten/,
    A,
    edit([20, 30], 'two'),
    read([31, 40], { a: 'one' }, { container: 0 }),
  ],
  [
    'either of two writes at once',
    undefined,
    A,
    edit([20, 50], 'two'),
    edit([30, 40], 'three'),
    read([2_000, 2_010], { a: 'two' }),
  ],
  [
    'both of two writes, in turn',
    /not linearizable/,
    A,
    edit([20, 50], 'two'),
    edit([30, 40], 'three'),
    read([2_000, 2_010], { a: 'two' }),
    read([4_000, 4_010], { a: 'three' }),
    read([6_000, 6_010], { a: 'two' }),
  ],
  [
    'back in one container',
    /shown after/,
    A,
    edit([20, 30], 'two'),
    read([31, 40], { a: 'two' }),
    read([50, 60], { a: 'one' }),
  ],
  [
    'back in another view',
    undefined,
    A,
    edit([20, 30], 'two'),
    read([31, 40], { a: 'two' }),
    read([50, 60], { a: 'one' }, { view: 'rss' }),
  ],
  [
    'back after a restart',
    undefined,
    A,
    edit([20, 30], 'two'),
    read([31, 40], { a: 'two' }),
    read([50, 60], { a: 'one' }, { start: 1 }),
  ],
  ['an acknowledged note is lost', /nobody deleted/, A, read([2_000, 2_010], {}, whole)],
  ['a new note is not shown yet', undefined, A, read([900, 910], {}, whole)],
  [
    'a new note is not shown where it was posted',
    /nobody deleted/,
    A,
    read([11, 20], {}, { ...whole, container: 0 }),
  ],
  ['a deleted note', undefined, A, deletion([20, 30]), read([2_000, 2_010], {}, whole)],
  [
    'a deleted note comes again',
    /after it was overwritten/,
    A,
    deletion([20, 30]),
    read([2_000, 2_010], { a: 'one' }),
  ],
  [
    'a deleted note is edited',
    /overwritten|nobody|not linearizable/,
    A,
    deletion([20, 30]),
    edit([40, 50], 'two'),
    read([2_000, 2_010], {}, whole),
  ],
  [
    'a deletion without an answer, done',
    undefined,
    A,
    deletion([20, 30], 0),
    read([2_000, 2_010], { a: null }),
  ],
  [
    'a deletion without an answer, not done',
    undefined,
    A,
    deletion([20, 30], 0),
    read([2_000, 2_010], { a: 'one' }),
  ],
  [
    'a refused edit is there',
    /not written there/,
    A,
    edit([20, 30], 'two', 412),
    read([2_000, 2_010], { a: 'two' }),
  ],
  [
    'a value before it was written',
    /not written there/,
    A,
    edit([50, 60], 'two'),
    read([20, 30], { a: 'two' }),
  ],
  [
    'an edit without an answer comes late',
    undefined,
    A,
    edit([20, 30], 'two', 503),
    edit([40, 50], 'three'),
    read([60, 70], { a: 'two' }),
  ],
  [
    'an edit without an answer comes, goes and comes',
    /overwritten|not linearizable/,
    A,
    edit([20, 30], 'two', 503),
    read([40, 50], { a: 'two' }),
    edit([60, 70], 'three'),
    read([2_000, 2_010], { a: 'two' }),
  ],
  ['a post without an answer, once', undefined, post([0, 10], 'one'), read([20, 30], { a: 'one' }, whole)],
  ['a post without an answer, not there', undefined, post([0, 10], 'one'), read([2_000, 2_010], {}, whole)],
  [
    'a post without an answer, twice',
    /twice/,
    post([0, 10], 'one'),
    read([20, 30], { a: 'one', b: 'one' }, whole),
  ],
  [
    'a refused post is there',
    /not written there/,
    post([0, 10], 'one', undefined, 422),
    read([20, 30], { a: 'one' }),
  ],
  ['two notes of one key', /twice/, A, post([20, 30], 'one', 'b')],
  [
    'one note of one key',
    undefined,
    post([0, 10], 'one'),
    post([20, 30], 'one', 'a'),
    read([2_000, 2_010], { a: 'one' }, whole),
  ],
  [
    'a lost update',
    /replaced twice/,
    A,
    edit([20, 30], 'two', 200, { replaces: 'one' }),
    edit([40, 50], 'three', 200, { replaces: 'one' }),
  ],
  [
    'an update of what is gone',
    /no longer there/,
    A,
    edit([20, 30], 'two'),
    edit([40, 50], 'three', 200, { replaces: 'one' }),
  ],
  [
    'refused as changed',
    undefined,
    A,
    edit([20, 30], 'two'),
    edit([20, 30], 'three', 412, { replaces: 'one', code: 'changed' }),
  ],
  [
    'refused as changed, but it was not',
    /but it was not/,
    A,
    edit([20, 30], 'two', 412, { replaces: 'one', code: 'changed' }),
  ],
  [
    'too many notes',
    /2 are the most/,
    A,
    post([0, 10], 'two', 'b'),
    post([0, 10], 'three', 'c'),
    read([20, 30], { a: 'one', b: 'two', c: 'three' }),
  ],
  [
    'refused though there is room',
    /refused with at most 1/,
    A,
    post([20, 30], 'two', undefined, 507, { code: 'note_limit' }),
  ],
  [
    'refused because a feed is full',
    undefined,
    A,
    post([0, 10], 'two'),
    post([20, 30], 'three', undefined, 507, { code: 'note_limit' }),
  ],
  ['an internal error', /answered with 500/, post([0, 10], 'one', undefined, 500, { code: 'internal' })],
];

for (const [what, rule, ...operations] of cases)
  t.test(what, async (t) => {
    const history = new History();
    for (const operation of operations) history.add(operation);
    const rules = check(history, PROMISES).violations.map((violation) => violation.rule);
    if (rule === undefined) t.same(rules, []);
    else t.match(rules[0], rule);
  });

t.test('a container that is cut off may be behind for longer', async (t) => {
  const judge = (until: number) => {
    const history = new History();
    history.cutOffs.push({ container: 1, from: 0, until });
    for (const operation of [A, edit([20, 30], 'two'), read([4_000, 4_010], { a: 'two' })])
      history.add(operation);
    history.add(read([1_530, 1_540], { a: 'one' }));
    return check(history, { ...PROMISES, staleMs: { healthy: 1_000, cutOff: 2_000 } });
  };
  t.same(judge(5_000), { violations: [], stalest: { healthy: 0, cutOff: 1_500 } });
  t.match(judge(-600).violations, [{ rule: 'shown 1500 ms after it was overwritten' }]);
});
