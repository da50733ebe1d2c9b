import fc from 'fast-check';
import t from 'tap';
import { cutTitle, markdownTitle } from '../../src/feeds/title.ts';

const titles: [what: string, markdown: string, title: string][] = [
  ['nothing', '', ''],
  ['only blank lines', ' \n\t\n\n', ''],
  ['an ATX heading', '# Title', 'Title'],
  ['a heading of level 6 with closing marks', '   ###### Title ## \nmore', 'Title'],
  ['a closing mark needs a space before it', '# C#', 'C#'],
  ['a heading after text', 'text\nmore\n\n## Title', 'Title'],
  ['a heading right after a paragraph', 'text\n# Title', 'Title'],
  ['an empty heading does not count', '#\n# ##\n# Title', 'Title'],
  ['seven marks are text', '####### seven\n\n# Title', 'Title'],
  ['a hashtag is text', '#tag and more', '#tag and more'],
  ['four spaces make code', '    # code\n\n# Title', 'Title'],
  ['a tab makes code', '\t# code\n\n# Title', 'Title'],
  ['a setext heading', 'Title\n===', 'Title'],
  ['a setext heading of one mark', 'Title\n-', 'Title'],
  ['a setext heading of several lines', 'One\n  two\n    three\n---  ', 'One two three'],
  ['a setext heading after another paragraph', 'text\n\nTitle\n===', 'Title'],
  ['an underline with a blank line before it', 'text\n\n===', 'text'],
  ['an underline with other characters', 'a | b\n--|--', 'a | b'],
  ['an underline after a list item', '- item\n---\n\n# Title', 'Title'],
  ['an underline after a lazy line of a list item', '- item\nmore\n===', 'item'],
  ['an underline after a quote', '> quote\n===', 'quote'],
  ['an underline after code', '    code\n===\n', 'code'],
  ['a rule is no text', '---\ntext', 'text'],
  ['a rule with spaces is no text', ' * * *\n_ _ _\ntext', 'text'],
  ['a rule ends a paragraph', 'one\n***\ntwo\n===', 'two'],
  ['a list item', '- item\n- more', 'item'],
  ['an ordered list item', '  12. item', 'item'],
  ['an ordered list item with a bracket', '1) item', 'item'],
  ['a task', '* [ ] task', 'task'],
  ['a task that is done', '+ [x] task', 'task'],
  ['a box that is no task', '[ ] text', '[ ] text'],
  ['an empty list item', '-\n- item', 'item'],
  ['a number that is no list', '1.5 litres', '1.5 litres'],
  ['a minus that is no list', '-5 degrees', '-5 degrees'],
  ['a quote', '>quote', 'quote'],
  ['lists and quotes in each other', ' > - > 1. deep', 'deep'],
  ['a heading in a quote is text', '> # quoted\n\n# Title', 'Title'],
  ['a heading in a quote as the first line', '> # quoted', 'quoted'],
  ['a fence', '```\n# code\n```\ntext', 'text'],
  ['a fence of tildes with a language', '~~~ sh\n# code\n```\n~~~\ntext', 'text'],
  ['a fence that is never closed', 'text\n```\n# code', 'text'],
  ['only a fence', '```\ncode\n```', ''],
  ['a longer fence', '````\n```\n# code\n````\n# Title', 'Title'],
  ['an indented line does not close a fence', '```\n    ```\n# code\n```\n# Title', 'Title'],
  ['backticks in a line are no fence', '``` code ``` text\n# Title', 'Title'],
  ['a fence ends a paragraph', 'text\n```\ncode\n```\n===\n', 'text'],
  ['a fence in a list item', '- ```\n  # code\n  ```\n- item', 'item'],
  ['a fence in a quote', '> ```\n> # code\n> ```\n> quote', 'quote'],
  ['a quote that ends takes its fence with it', '> ```\n> code\ntext\n# Title', 'Title'],
  ['a fence that ended with its quote is over', '> ```\n> code\n#\n> quote', 'quote'],
  ['an indented line is no list', '    - code', '- code'],
  ['indented code is no paragraph', '    code\n===\n\n# Title', 'Title'],
  ['indented backticks are no fence', '    ```\n# Title', 'Title'],
  ['an empty heading in a quote', '> #\ntext', 'text'],
  ['text far to the right', `> ${' '.repeat(10_000)}text`, 'text'],
  ['a fence in a list item may be indented deeper', '1. ```\n   # code\n    ```\n\n# Title', 'Title'],
  ['emphasis in a heading', '# **Bold** and _not_', 'Bold and not'],
  ['emphasis in a line', '***all*** of *it*', 'all of it'],
  ['CRLF', '\r\ntext\r\n===\r\nmore', 'text'],
  ['CR', 'text\r# Title\rmore', 'Title'],
  ['a BOM', '\ufeff# Title', 'Title'],
  ['other white space around', '\u00a0\u3000text\u2003', 'text'],
  ['controls and direction overrides', 'a\0b\u202ec\u2028d', 'a b c d'],
  ['only controls', '\x01\x02\n\ntext', 'text'],
  ['exactly 100 characters', 'é'.repeat(100), 'é'.repeat(100)],
  ['one long word', '\u{1f600}'.repeat(101), `${'\u{1f600}'.repeat(99)}…`],
  ['more words than fit', `${'a'.repeat(60)} ${'b'.repeat(60)}`, `${'a'.repeat(60)}…`],
  ['a word that ends where it is cut', `${'a '.repeat(49)}a b`, `${'a '.repeat(49)}a…`],
  ['a last word that just fits', `${'a'.repeat(95)} bcd ef`, `${'a'.repeat(95)} bcd…`],
  ['a last word that does not fit', `${'a'.repeat(95)} bcde f`, `${'a'.repeat(95)}…`],
  ['a cut in a grapheme cluster', `${'a'.repeat(97)}👍🏽👍🏽`, `${'a'.repeat(97)}👍🏽…`],
  ['a cut in a family', `${'a'.repeat(98)}👨‍👩‍👧‍👦`, `${'a'.repeat(98)}…`],
  ['a cluster of more than 100 characters', `a${'\u0301'.repeat(200)}`, `a${'\u0301'.repeat(98)}…`],
  ['a link', '# [The *page*](https://a.example/) and `code`', 'The page and code'],
  ['a link by reference', '[The page][p] & [p]\n\n[p]: https://a.example/', 'The page & p'],
  ['a definition is not shown', '[p]: https://a.example/ "t"\n[q]: <b c>\ntext', 'text'],
  ['what only looks like a definition is', '[p]: some text', '[p]: some text'],
  ['escapes and references', '# 1 \\* 2 &lt; 3 &copy;', '1 * 2 < 3 ©'],
  ['a picture with a text', '![A cat](cat.png)\n\ntext', 'A cat'],
  ['a picture without a text', '![](cat.png)\n\ntext', 'text'],
  ['a heading that is a picture without a text', '# ![](cat.png)\n\ntext\n\n## Cats', 'Cats'],
  ['only a picture without a text', '![](cat.png)', ''],
  ['a lone surrogate', 'a\ud800', 'a\ud800'],
];
for (const [what, markdown, title] of titles) {
  t.test(what, async (t) => {
    t.equal(markdownTitle(markdown), title);
    t.equal(markdownTitle(Buffer.from(markdown)), title.toWellFormed());
  });
}

t.test('bytes that are not UTF-8, and a view into a larger buffer', async (t) => {
  t.equal(markdownTitle(Buffer.from('# caf\xe9', 'latin1')), 'caf\ufffd');
  t.equal(markdownTitle(Buffer.from('x# Title\n# y').subarray(1, 8)), 'Title');
});

t.test('a text that serves as a title is cut alike', async (t) => {
  t.equal(cutTitle(` a\nb ${'c'.repeat(100)}`), 'a b…');
  t.equal(cutTitle('*not* markdown'), '*not* markdown');
});

const piece = fc.constantFrom(
  '# ',
  '===',
  '---',
  '```',
  '~~~',
  '> ',
  '- ',
  '1. ',
  '    ',
  '\t',
  '*',
  '_',
  '`',
  '\\',
  'a',
  ' b',
  'ä👍🏽',
  '\n',
  '\n\n',
  '\r\n',
  '\0',
  '\ud800',
);
const markdown = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

t.test('a title is one line of at most 100 characters', async () => {
  fc.assert(
    fc.property(fc.oneof(markdown, fc.string({ unit: 'binary', maxLength: 300 })), (text) => {
      const title = markdownTitle(text);
      return [...title].length <= 100 && title === cutTitle(title);
    }),
  );
});

t.test(
  'a heading before any text is its title, and any text has the title of its trimmed lines',
  async () => {
    fc.assert(
      fc.property(markdown, (text) => {
        const ended = `${text.replace(/[\r]/g, '')}\n`;
        return (
          markdownTitle(`# First\n${text}`) === 'First' &&
          markdownTitle(ended) === markdownTitle(ended.replaceAll('\n', '\r\n'))
        );
      }),
    );
  },
);

const hostile = [
  '*a',
  '_a*',
  '`',
  '` `` ``` ',
  '-\n',
  '- ',
  '>',
  '> ',
  '- a\n===\n',
  '#',
  '# \n',
  '1.\n',
  ' ',
  '\t',
  '\r',
  '\\',
  '```\n~~~\n',
  '\u0301',
  '👨‍👩‍👧‍👦',
  '[',
  '[a]: ',
  '[a]: b\n',
  '[a][b]\n',
  '](',
];
t.test('100 KB of what makes parsers slow', async (t) => {
  for (const piece of hostile) {
    const text = piece.repeat(102_400 / piece.length);
    t.ok([...markdownTitle(text)].length <= 100);
  }
});
