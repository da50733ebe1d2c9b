import fc from 'fast-check';
import t from 'tap';
import type { NoteFile } from '../../src/feeds/names.ts';
import { encodeCursor } from '../../src/feeds/order.ts';
import { pageQuery, tagQuery } from '../../src/read/page-query.ts';

const query = (text: string) => {
  const values = new URLSearchParams(text);
  return { query: (name: string) => values.get(name) ?? undefined };
};
const ID = '20260102T030405Z-019b7d3c-4f08-7000-8000-000000000000';
const PREFIX_TIME = Date.UTC(2026, 0, 2, 3, 4, 5);
const defaults = { limit: 50, tag: undefined, before: undefined };

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
    t.same(pageQuery(query(text)), { ...defaults, ...page }),
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

t.test('a tag alone is read by the same rule', async (t) => {
  t.equal(tagQuery(query('')), undefined);
  t.equal(tagQuery(query('tag=A')), 'a');
  t.equal(tagQuery(query('tag=')), undefined);
  t.throws(() => tagQuery(query('tag=a%20b')), { code: 'invalid_request' });
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
