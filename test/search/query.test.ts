import fc from 'fast-check';
import t from 'tap';
import { Refusal } from '../../src/refusals.ts';
import { parseQuery, QUERY_LENGTH, queryKey, type Term } from '../../src/search/query.ts';

const written = (term: Term) => `${term.words.join('+')}${term.isPrefix ? '*' : ''}`;

function read(text: string): string {
  const { all, none } = parseQuery(text);
  return [...all.map(written), ...none.map((term) => `-${written(term)}`)].join(' ');
}

function isRefused(text: string): boolean {
  try {
    parseQuery(text);
    return false;
  } catch (cause) {
    return cause instanceof Refusal && cause.code === 'invalid_request';
  }
}

t.test('the language', async (t) => {
  const cases: Record<string, string> = {
    'two words': 'two words',
    '"two words"': 'two+words',
    '"two words': 'two+words',
    'a "b c"d': 'a b+c d',
    'well-known node.js': 'well+known node+js',
    'begin* "two beg*" "two beg"*': 'begin* two+beg* two+beg*',
    'a*b **c** *': 'a+b c*',
    'a -b -"c d" -e*': 'a -b -c+d -e*',
    'a - b --c': 'a b -c',
    '漢字 漢* -字': '漢+字 漢 -字',
    'a漢* 漢a*': 'a+漢 漢+a*',
    'ÉTÉ\u3000ＡＢ': 'ete ab',
    '“curly” 👍🏽': 'curly 👍',
    'a OR b AND NOT c NEAR(d)': 'a or b and not c near+d',
    'col:a ^b {c} (d)': 'col+a b c d',
  };
  for (const [text, expected] of Object.entries(cases)) t.equal(read(text), expected, text);
});

t.test('what is refused', async (t) => {
  for (const text of ['', ' ', '"', '""', '-', '*', '-a', '-"a b"', '...', '\ud800', '\u0301', '\0'])
    t.ok(isRefused(text), JSON.stringify(text));
  t.ok(isRefused('a'.repeat(QUERY_LENGTH + 1)));
  t.notOk(isRefused('😀'.repeat(QUERY_LENGTH)), 'characters are counted');
});

const PIECES = [
  '"',
  '-',
  '*',
  ' ',
  'a',
  'B',
  '漢',
  'é',
  '\ud800',
  '\u200f',
  '\u202e',
  '\u0301',
  "'",
  ':',
  '\\',
];
const pieces = fc
  .array(fc.constantFrom(...PIECES), { maxLength: QUERY_LENGTH })
  .map((parts) => parts.join(''));
const queries = fc.oneof(
  pieces,
  fc.string({ unit: 'binary', maxLength: 250 }),
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    maxLength: 220,
  }),
);

t.test('every text is a query or refused', { timeout: 600_000 }, async (t) => {
  for (const piece of PIECES) t.type(isRefused(piece.repeat(QUERY_LENGTH)), 'boolean');
  t.ok(isRefused('"'.repeat(10_000_000)), 'a long one at once');
  fc.assert(
    fc.property(queries, (text) => {
      if (isRefused(text)) return;
      const { all, none } = parseQuery(text);
      if (all.length === 0) throw new Error('nothing to find');
      for (const { words } of [...all, ...none])
        if (
          words.length === 0 ||
          words.some(
            (word) => !/^[\p{L}\p{N}\p{M}\p{Extended_Pictographic}\p{Regional_Indicator}]+$/u.test(word),
          )
        )
          throw new Error(`not all are words: ${words}`);
    }),
    { numRuns: 500 },
  );
});

t.test('a query written in its own language is the same', async () => {
  const term = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.array(fc.constantFrom('a', 'b', '漢'), { minLength: 1, maxLength: 3 }),
    )
    .chain(([minus, words]) => fc.constantFrom('', '*').map((star) => `${minus}"${words.join(' ')}"${star}`));
  const texts = fc.array(term, { minLength: 1, maxLength: 4 }).map((terms) => ['a', ...terms].join(' '));
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const [first, second] = [parseQuery(one), parseQuery(other)];
      const areSame = JSON.stringify(first) === JSON.stringify(second);
      return (queryKey(first) === queryKey(second)) === areSame;
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(pieces, (text) => {
      if (isRefused(text)) return true;
      const query = parseQuery(text);
      const key = queryKey(query);
      return key.length > QUERY_LENGTH || JSON.stringify(parseQuery(key)) === JSON.stringify(query);
    }),
    { numRuns: 500 },
  );
});
