import fc from 'fast-check';
import t from 'tap';
import { cutTitle } from '../../src/feeds/text.ts';
import { titlesOnLoop } from '../../src/read/note-title.ts';
import { hostileText } from '../support/hostile-notes.ts';
import { markdownTexts } from '../support/markdown-texts.ts';
import { rendered } from '../support/rendered.ts';

/** The title of the rendered text, which must be the one that is found without rendering. */
function titleOf(markdown: string | Uint8Array): string {
  const bytes = Buffer.from(markdown as string);
  const { title } = rendered(bytes);
  const [atOnce] = titlesOnLoop([bytes]);
  if (atOnce !== undefined && atOnce !== title) throw new Error(`${atOnce} is not ${title}`);
  return title;
}

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
  ['a heading with a footnote', '# Title[^1]\n\n[^1]: note', 'Title'],
  ['a footnote above the text', '[^1]: note\n\ntext[^1] of it', 'text of it'],
  ['a footnote in a table', '|a[^1]|b|\n|-|-|\n\n[^1]: note', '|a|b|'],
  ['footnotes alone', '[^1]: note', ''],
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
  ['controls and direction overrides', 'a\0b\x7f\u202ec\u2028d', 'ab  c d'],
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
  ['a lone surrogate', 'a\ud800', 'a\ufffd'],
  ['a character that XML forbids', '# a&#1;b&#xffff;', 'ab'],
];
for (const [what, markdown, title] of titles) {
  t.test(what, async (t) => {
    t.equal(titleOf(markdown), title);
  });
}

/** What is shown of a line. */
const lines: [line: string, text: string][] = [
  ['plain', 'plain'],
  ['*a* _b_ **c** __d__ ***e***', 'a b c d e'],
  ['*a **b** c*', 'a b c'],
  ['**a*', '*a'],
  ['*a**', 'a*'],
  ['a*b*c', 'abc'],
  ['snake_case_name', 'snake_case_name'],
  ['snake_case_', 'snake_case_'],
  ['_snake_case', '_snake_case'],
  ['_(a)_b', '_(a)_b'],
  ['(_a_)', '(a)'],
  ['2 * 3 * 4', '2 * 3 * 4'],
  ['2*3', '2*3'],
  ['* a*', '* a*'],
  ['*a *', '*a *'],
  ['*a_ b*', 'a_ b'],
  ['\\*a*', '*a*'],
  ['*a\\**', 'a*'],
  ['`*a*` *b*', '*a* b'],
  ['``*a`*`` *b*', '*a`* b'],
  ['`*a*', '`a'],
  ['glob `*.ts` and `*.js`', 'glob *.ts and *.js'],
  ['*ä👍🏽*', 'ä👍🏽'],
  ['a*"b"*c', 'a*"b"*c'],
  ['**', '**'],
  ['* * *', '* * *'],
  ['~~a~~ ~b~ ~~~c~~~', 'a b ~~~c~~~'],
  ['`` `a` ``', '`a`'],
  ['` a ` ` ` b', 'a   b'],
  ['[a *b*](c) d', 'a b d'],
  ['[a](<b c> "d") [e](f(g)h) [i]()', 'a e i'],
  ['![a [b](c)](d)', 'a b'],
  ['![](d)', ''],
  ['[a][label] [Label] [label][] [b][other] [other]', 'a Label label [b][other] [other]'],
  ['[a] (b) [c](d e) \\[f](g) [h', '[a] (b) [c](d e) [f](g) [h'],
  ['*[a*](b)', '*a*'],
  ['`[a](b)` [`](c)`', '[a](b) [](c)'],
  ['&amp; &copy; &#65; &#x42; &unknown; &', '& © A B &unknown; &'],
  ['<https://a.example/*b*> <a@b.example>', 'https://a.example/*b* a@b.example'],
  ['<b title="*a*">*c*</b> 1 < 2', '<b title="*a*">c</b> 1 < 2'],
  ['\\a \\\\ \\`', '\\a \\ `'],
];
for (const [line, text] of lines)
  t.test(`"${line}"`, async (t) => t.equal(titleOf(`# ${line}\n\n[label]: a`), text));

t.test('nothing but marks is ever taken away', async () => {
  const text = fc.array(fc.constantFrom('*', '**', '_', 'a', ' ', '.', '👍'), { maxLength: 30 });
  fc.assert(
    fc.property(
      text.map((pieces) => pieces.join('')),
      (line) => {
        const bare = (of: string) => of.replace(/[*_]/g, '');
        return bare(titleOf(`# a${line}b`)) === bare(`a${line}b`);
      },
    ),
  );
});

t.test('a text in marks loses just these', async () => {
  const words = fc.stringMatching(/^[a-z]([a-z ]*[a-z])?$/);
  fc.assert(
    fc.property(words, fc.constantFrom('*', '**', '***', '_', '__'), (text, mark) => {
      return titleOf(`# a ${mark}${text}${mark} b`) === `a ${text} b`;
    }),
  );
});

t.test('bytes that are not UTF-8, and a view into a larger buffer', async (t) => {
  t.equal(titleOf(Buffer.from('# caf\xe9', 'latin1')), 'caf\ufffd');
  t.equal(titleOf(Buffer.from('x# Title\n# y').subarray(1, 8)), 'Title');
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
      const title = titleOf(text);
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
          titleOf(`# First\n${text}`) === 'First' &&
          titleOf(ended) === titleOf(ended.replaceAll('\n', '\r\n'))
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
t.test('a title found without rendering is the same', async () => {
  fc.assert(
    fc.property(fc.oneof(markdownTexts, hostileText(), markdown), (text) => titleOf(text) !== undefined),
    { numRuns: 800 },
  );
});

t.test('what makes parsers slow does not hold the event loop', async (t) => {
  for (const piece of hostile)
    for (const [count, length] of [
      [50, 1310],
      [2, 102_400],
    ] as const) {
      const text = Buffer.from(piece.repeat(length / piece.length));
      const before = process.threadCpuUsage();
      titlesOnLoop(Array.from({ length: count }, () => text));
      const { user, system } = process.threadCpuUsage(before);
      t.ok(user + system < 100_000, JSON.stringify([piece, user + system]));
    }
});
