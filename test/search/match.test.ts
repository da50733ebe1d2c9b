import fc from 'fast-check';
import t from 'tap';
import { findMatch, type Match, type SearchedNote } from '../../src/search/match.ts';
import { parseQuery } from '../../src/search/query.ts';
import { wordsOf } from '../../src/search/words.ts';

const noteOf = (parts: Partial<SearchedNote>): SearchedNote => ({
  title: '',
  text: '',
  alt: '',
  name: '',
  tags: [],
  ...parts,
});
const find = (query: string, parts: Partial<SearchedNote>) => findMatch(parseQuery(query), noteOf(parts));
/** The piece with its places in brackets. */
const shown = (match: Match | undefined) => {
  if (match === undefined) return undefined;
  let text = '';
  let behind = 0;
  for (const [start, end] of match.marks) {
    text += `${match.text.slice(behind, start)}[${match.text.slice(start, end)}]`;
    behind = end;
  }
  return text + match.text.slice(behind);
};
const words = (text: string) => Array.from(wordsOf(text), ({ word }) => word);

t.test('which notes are found, and where', async (t) => {
  const note = {
    title: 'The big title',
    text: 'Two words,\n\nthen  TWO more wörds.',
    alt: 'A cat',
    name: 'cat-1.png',
    tags: ['to-do', 'Straße'],
  };
  const cases: Record<string, string | undefined> = {
    two: '[Two] words, then [TWO] more wörds.',
    'more two': '[Two] words, then [TWO] [more] wörds.',
    words: 'Two [words], then TWO more [wörds].',
    '"two words"': '[Two words], then TWO more wörds.',
    'mor*': 'Two words, then TWO [more] wörds.',
    mor: undefined,
    '"two mor*"': 'Two words, then [TWO more] wörds.',
    '"two more" "more words"': 'Two words, then [TWO more wörds].',
    '"wörds the"': undefined,
    'two -three': '[Two] words, then [TWO] more wörds.',
    'two -cat': undefined,
    'two -"two two"': '[Two] words, then [TWO] more wörds.',
    'title two': '[Two] words, then [TWO] more wörds.',
    'big title': 'The [big] [title]',
    '"words the"': undefined,
    cat: 'A [cat]',
    'png cat': 'A [cat]',
    '"cat 1"': '[cat-1].png',
    strasse: '[Straße]',
    'to-do': '[to-do]',
    '"do strasse"': undefined,
    zebra: undefined,
  };
  for (const [query, expected] of Object.entries(cases)) t.equal(shown(find(query, note)), expected, query);
});

t.test('the piece', async (t) => {
  const text = `${'before '.repeat(30)}here ${'behind '.repeat(30)}`;
  t.equal(shown(find('here', { text })), `${'before '.repeat(8)}[here] ${'behind '.repeat(20).trim()}`);
  const atEnd = `${'before '.repeat(60)}here`;
  t.equal(shown(find('here', { text: atEnd })), `${'before '.repeat(27)}[here]`);
  t.equal(
    shown(find('漢字', { text: '漢字'.repeat(300) })),
    `[${'漢字'.repeat(100)}]`,
    'places that touch are one',
  );
  t.equal(find('x', { text: `${'😀'.repeat(99)}.x${'😀'.repeat(99)}` })?.text.isWellFormed(), true);
});

const places = /[\p{Script=Han}]/u;
const chinese = fc
  .array(fc.constantFrom(...'天地玄黄宇宙洪荒日月盈昃𠀀𠮷々'), { minLength: 1, maxLength: 120 })
  .map((letters) => letters.join(''));

t.test('any part of a Chinese text finds it', async () => {
  const parts = chinese.chain((text) => {
    const letters = [...text];
    const place = fc.integer({ min: 0, max: letters.length - 1 });
    return fc
      .tuple(fc.constant(text), place, fc.integer({ min: 1, max: 200 }))
      .map(([whole, from, length]) => ({
        whole,
        part: letters.slice(from, from + length).join(''),
      }));
  });
  fc.assert(
    fc.property(parts, ({ whole, part }) => {
      const match = find(part, { text: whole });
      const [first] = match?.marks ?? [];
      return (
        places.test(part) && first !== undefined && match!.text.slice(first[0]).startsWith(part.slice(0, 1))
      );
    }),
    { numRuns: 300 },
  );
});

const word = fc.constantFrom(
  'a',
  'b',
  'Ä',
  'ßs',
  'café',
  '漢字',
  'が',
  'ｶﾞ',
  '𠮷',
  '👍🏽',
  'x'.repeat(70),
  'مُح',
);
const space = fc.constantFrom(' ', '  ', '\n', '-', '', '😀', '\u0301');
const text = fc.array(fc.tuple(word, space), { maxLength: 80 }).map((parts) => parts.flat().join(''));

t.test('marks are in the piece, in order, apart, and are what was sought', async () => {
  fc.assert(
    fc.property(
      text,
      fc.array(word, { minLength: 1, maxLength: 2 }),
      fc.constantFrom(' ', '-'),
      (text, sought, sign) => {
        const query = parseQuery(sought.join(sign));
        const match = findMatch(query, noteOf({ text, tags: ['a'] }));
        const phrases = query.all.map((term) => term.words.join(' '));
        const isThere = phrases.every((phrase) =>
          [text, 'a'].some((one) => ` ${words(one).join(' ')} `.includes(` ${phrase} `)),
        );
        if ((match !== undefined) !== isThere) throw new Error(`found: ${!isThere}`);
        if (match === undefined) return;
        if (match.text.length > 200 || !match.text.isWellFormed()) throw new Error('not a piece');
        if (match.marks.length === 0) throw new Error('no place');
        let behind = -1;
        for (const [start, end] of match.marks) {
          if (start <= behind || end <= start || end > match.text.length) throw new Error('misplaced');
          behind = end;
          const marked = words(match.text.slice(start, end));
          const known = query.all.flatMap((term) => term.words);
          if (end < match.text.length && !marked.every((one) => known.includes(one)))
            throw new Error(`${marked}`);
        }
      },
    ),
    { numRuns: 500 },
  );
});

/** A hundred words, as many as a query can have. */
const LETTERS = Array.from({ length: 100 }, (_, n) => String.fromCodePoint(0xac00 + n));

t.test('a text of 1 MiB is judged in a time that grows with its length', { timeout: 600_000 }, async () => {
  const queries = [
    'zebra',
    '"a a a a a a a a b"',
    `${'a* '.repeat(60)}z*`,
    '漢漢字',
    'a '.repeat(100),
    '漢 '.repeat(100),
    LETTERS.join(' '),
  ];
  for (const part of ['a ', 'a漢', '漢', 'x', '\u0301', ' \n', '"-*'])
    for (const query of queries)
      find(query, { text: part.repeat(2 ** 20 / part.length) + LETTERS.join(' ') });
});
