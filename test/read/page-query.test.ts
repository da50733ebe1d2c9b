import fc from 'fast-check';
import t from 'tap';
import type { NoteFile } from '../../src/feeds/names.ts';
import { encodeCursor } from '../../src/feeds/order.ts';
import { notesKey, notesQuery, pageQuery } from '../../src/read/page-query.ts';

const query = (text: string) => {
  const values = new URLSearchParams(text);
  return { query: (name: string) => values.get(name) ?? undefined };
};
const ID = '20260102T030405Z-019b7d3c-4f08-7000-8000-000000000000';
const PREFIX_TIME = Date.UTC(2026, 0, 2, 3, 4, 5);
const ALL = { query: undefined, tag: undefined, from: undefined, to: undefined, asked: undefined };
const defaults = { limit: 50, before: undefined, ...ALL };

const taken: [text: string, page: Partial<ReturnType<typeof pageQuery>>][] = [
  ['', {}],
  ['other=1', {}],
  ['limit=&before=&tag=', {}],
  ['limit=&tag=x', { tag: 'x' }],
  ['limit=1', { limit: 1 }],
  ['limit=100', { limit: 100 }],
  ['tag=news', { tag: 'news' }],
  ['tag=News', { tag: 'news' }],
  ['tag=%C3%89', { tag: 'é' }],
  ['tag=%E2%84%AA', { tag: 'k' }],
  ['tag=a-z_0.9:x', { tag: 'a-z_0.9:x' }],
  [`tag=${'a'.repeat(32)}`, { tag: 'a'.repeat(32) }],
  ['before=by-hand', { before: 'by-hand' as never }],
  ['before=a%20b%25', { before: 'a b%' as never }],
  ['before=20260102T030405Z-x', { before: '20260102T030405Z-x' as never }],
  [`before=${ID}`, { before: { createdAt: PREFIX_TIME, file: `${ID}.md` as NoteFile } }],
  ['before=10.a%20b.png', { before: { createdAt: 36, file: 'a b.png' as NoteFile } }],
  ['limit=2&tag=x&before=y', { limit: 2, tag: 'x', before: 'y' as never }],
];
for (const [text, page] of taken) {
  t.test(`taken: ${text.slice(0, 40)}`, async (t) =>
    t.match(pageQuery(query(text)), {
      ...defaults,
      asked: page.tag ? { tag: page.tag } : undefined,
      ...page,
    }),
  );
}

const refused = [
  'limit=0',
  'limit=101',
  'limit=-1',
  'limit=1.5',
  'limit=1e1',
  'limit=0x10',
  'limit=%2010',
  'limit=NaN',
  'limit=0001',
  'tag=a%20b',
  'tag=a,b',
  'tag=%E2%82%AC',
  `tag=${'a'.repeat(33)}`,
  'before=a.b',
  'before=a/b',
  'before=..',
  'before=10.a.svg',
  'before=!.a.md',
];
for (const text of refused) {
  t.test(`refused: ${text}`, async (t) => {
    t.throws(() => pageQuery(query(text)), { name: 'Refusal', code: 'invalid_request' });
  });
}

const JANUARY = Date.UTC(2026, 0, 31);
const NOON = JANUARY + 12 * 60 * 60_000;
const moments: [text: string, from: number, to: number][] = [
  ['2026-01-31', JANUARY, JANUARY + 24 * 60 * 60_000 - 1],
  ['2026-01-31T12:00Z', NOON, NOON],
  ['2026-01-31T12:00:00Z', NOON, NOON],
  ['2026-01-31T14:00:00.5%2B02:00', NOON + 500, NOON + 500],
];
t.test('times are between from and to, and a day is so with all its moments', async (t) => {
  for (const [text, from, to] of moments) {
    const asked = decodeURIComponent(text);
    t.match(notesQuery(query(`from=${text}`)), { ...ALL, from, asked: { from: asked } });
    t.match(notesQuery(query(`to=${text}`)), { ...ALL, to, asked: { to: asked } });
  }
});

t.test('what is no time is refused by its name', async (t) => {
  const wrong = [
    'x',
    '2026',
    '2026-1-31',
    '2026-02-30',
    '2026-13-01',
    '2026-01-31T12:00',
    '2026-01-31T25:00Z',
    ' ',
  ];
  for (const text of wrong)
    for (const name of ['from', 'to'])
      t.throws(
        () => notesQuery({ query: (asked) => (asked === name ? text : undefined) }),
        { code: 'invalid_request', message: new RegExp(`^${name} must be an ISO date`) },
        text,
      );
});

t.test('a search is kept as it was asked for, and an empty one is none', async (t) => {
  t.same(notesQuery(query('q=&tag=&from=&to=')), ALL);
  t.match(notesQuery(query('q=Red+-fox&tag=A')), {
    query: { all: [{ words: ['red'] }], none: [{ words: ['fox'] }] },
    tag: 'a',
    asked: { q: 'Red -fox', tag: 'a' },
  });
  for (const text of ['q=%20', 'q=-fox', `q=${'a'.repeat(201)}`])
    t.throws(() => notesQuery(query(text)), { code: 'invalid_request', message: /^q / }, text);
  const texts = ['', 'q=a', 'tag=a', 'q=a&tag=a', 'from=2026-01-31', 'to=2026-01-31', 'q=2026-01-31'];
  const keys = texts.map((text) => notesKey(notesQuery(query(text)).asked));
  t.equal(new Set(keys).size, texts.length);
});

t.test('the next of a page is taken as the start of the one after it', async () => {
  const position = fc.record({
    createdAt: fc.integer({ min: -8.64e15, max: 8.64e15 }),
    file: fc.stringMatching(/^[^./\0]{1,10}\.(md|webp)$/) as unknown as fc.Arbitrary<NoteFile>,
  });
  fc.assert(
    fc.property(position, (next) => {
      const { before } = pageQuery({ query: (name) => (name === 'before' ? encodeCursor(next) : undefined) });
      return typeof before === 'object' && before.createdAt === next.createdAt && before.file === next.file;
    }),
  );
});

t.test('every number from 1 to 100 is a limit, no other', async () => {
  fc.assert(
    fc.property(fc.integer({ min: -20, max: 1200 }), (limit) => {
      try {
        return pageQuery(query(`limit=${limit}`)).limit === limit && limit >= 1 && limit <= 100;
      } catch {
        return limit < 1 || limit > 100;
      }
    }),
    { numRuns: 500 },
  );
});
