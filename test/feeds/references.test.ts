import fc from 'fast-check';
import t from 'tap';
import { placePictures, type StoredPicture } from '../../src/feeds/references.ts';
import { outlineOf, shownFiles, withFiles } from '../support/markdown-outline.ts';
import { DEFINED_NAMES, INLINE_NAMES, markdownTexts } from '../support/markdown-texts.ts';
import { shownNote } from '../support/rendered.ts';

/** Pictures of these names, stored as `1.png`, `2.png` and so on. */
const stored = (names: readonly string[]): StoredPicture[] =>
  names.map((name, index) => ({ name, file: `${index + 1}.png` }));

/** A rule, by the section of CommonMark 0.31 that it is from; the text; what becomes of it; the names posted. */
type Case = readonly [rule: string, text: string, expected: string, names?: readonly string[]];

function table(title: string, cases: readonly Case[]): void {
  t.test(title, async (t) => {
    for (const [rule, text, expected, names = ['a.png']] of cases)
      t.equal(placePictures(text, stored(names)), expected, rule);
  });
}

table('an inline image names its file', [
  ['6.4 description and destination', 'x ![alt](a.png) y\n', 'x ![alt](1.png) y\n'],
  ['6.4 no description', '![](a.png)', '![](1.png)'],
  ['6.3 title in double quotes', '![a](a.png "a.png")', '![a](1.png "a.png")'],
  ['6.3 title in single quotes', "![a](a.png 'a.png')", "![a](1.png 'a.png')"],
  ['6.3 title in parentheses', '![a](a.png (a.png))', '![a](1.png (a.png))'],
  ['6.3 spaces around it', '![a](  a.png  )', '![a](  1.png  )'],
  ['6.3 one line end on either side', '![a](\n  a.png\n"t"\n)', '![a](\n  1.png\n"t"\n)'],
  ['6.3 angle brackets stay', '![a](<a.png>)', '![a](<1.png>)'],
  ['6.3 angle brackets around spaces', '![a](<my file.png> "t")', '![a](<1.png> "t")', ['my file.png']],
  ['6.3 spaces need angle brackets', '![a](my file.png)', '![a](my file.png)\n\n![](1.png)', ['my file.png']],
  ['6.3 balanced parentheses', '![a](a(1).png)', '![a](1.png)', ['a(1).png']],
  ['6.3 unbalanced parentheses', '![a](a(.png)', '![a](a(.png)\n\n![](1.png)', ['a(.png']],
  ['2.4 escaped parenthesis', '![a](a\\(.png)', '![a](1.png)', ['a(.png']],
  ['2.4 escaped punctuation', '![a](a\\.png)', '![a](1.png)'],
  ['2.4 a backslash before a letter stays', '![a](\\a.png)', '![a](\\a.png)\n\n![](1.png)'],
  ['2.4 escapes in angle brackets', '![a](<a\\>.png>)', '![a](<1.png>)', ['a>.png']],
  ['2.5 a named character reference', '![a](a&amp;b.png)', '![a](1.png)', ['a&b.png']],
  ['2.5 a decimal character reference', '![a](caf&#233;.png)', '![a](1.png)', ['café.png']],
  ['2.5 a hexadecimal character reference', '![a](&#x1F600;.png)', '![a](1.png)', ['😀.png']],
  ['2.5 no such character reference', '![a](a&nope;.png)', '![a](1.png)', ['a&nope;.png']],
  ['6.4 brackets in the description', '![a [b] c](a.png)', '![a [b] c](1.png)'],
  ['6.4 a link in the description', '![a [b](a.png)](a.png)', '![a [b](a.png)](1.png)'],
  ['6.1 code with a bracket in the description', '![a `]`](a.png)', '![a `]`](1.png)'],
  ['6.4 a description over two lines', '![a\nb](a.png)', '![a\nb](1.png)'],
  ['6.4 in a link', '[![a](a.png)](a.png)', '[![a](1.png)](a.png)'],
  ['6.2 in emphasis', '**![a](a.png)**', '**![a](1.png)**'],
  ['6.4 more than once', '![a](a.png)![b](a.png)', '![a](1.png)![b](1.png)'],
  [
    '6.4 other files stay',
    '![a](b.png) ![b](https://e.example/a.png)',
    '![a](b.png) ![b](https://e.example/a.png)\n\n![](1.png)',
  ],
  ['6.3 capitals count', '![a](A.png)', '![a](A.png)\n\n![](1.png)'],
  ['6.3 no space before the parenthesis', '![a] (a.png)', '![a] (a.png)\n\n![](1.png)'],
  [
    '6.4 in the description of another image nobody sees it',
    '![![a](a.png)](b.png)',
    '![![a](1.png)](2.png)\n\n![](1.png)',
    ['a.png', 'b.png'],
  ],
]);

table('percent signs', [
  ['a space', '![a](my%20file.png)', '![a](1.png)', ['my file.png']],
  ['in angle brackets', '![a](<my%20file.png>)', '![a](<1.png>)', ['my file.png']],
  ['more than ASCII', '![a](caf%C3%A9.png)', '![a](1.png)', ['café.png']],
  ['in a definition', '![a]\n\n[a]: my%20file.png', '![a]\n\n[a]: 1.png', ['my file.png']],
  ['the exact name wins', '![a](a%20b.png)', '![a](2.png)\n\n![](1.png)', ['a b.png', 'a%20b.png']],
  ['are decoded once', '![a](a%2520b.png)', '![a](2.png)\n\n![](1.png)', ['a b.png', 'a%20b.png']],
  ['that encode nothing', '![a](100%.png)', '![a](1.png)', ['100%.png']],
  ['that are no UTF-8', '![a](%FF.png)', '![a](%FF.png)\n\n![](1.png)', ['\ufffd.png']],
]);

table('an image names a definition', [
  ['6.4 full', '![a][r]\n\n[r]: a.png', '![a][r]\n\n[r]: 1.png'],
  ['6.4 collapsed', '![r][]\n\n[r]: a.png', '![r][]\n\n[r]: 1.png'],
  ['6.4 shortcut', '![r]\n\n[r]: a.png', '![r]\n\n[r]: 1.png'],
  ['4.7 before its use', '[r]: a.png\n\n![r]', '[r]: 1.png\n\n![r]'],
  ['4.7 with a title', '![r]\n\n[r]: a.png "a.png"', '![r]\n\n[r]: 1.png "a.png"'],
  ['4.7 over three lines', "![r]\n\n[r]:\na.png\n'a.png'", "![r]\n\n[r]:\n1.png\n'a.png'"],
  ['4.7 angle brackets stay', '![r]\n\n[r]: <my file.png>', '![r]\n\n[r]: <1.png>', ['my file.png']],
  ['4.7 without a space', '![r]\n\n[r]:a.png', '![r]\n\n[r]:1.png'],
  ['4.7 up to three spaces before it', '![r]\n\n   [r]: a.png', '![r]\n\n   [r]: 1.png'],
  ['4.7 it cannot interrupt a paragraph', '![r]\n[r]: a.png', '![r]\n[r]: a.png\n\n![](1.png)'],
  [
    '4.7 several in a row',
    '[q]: b.png\n[r]: a.png\n![q]![r]',
    '[q]: 2.png\n[r]: 1.png\n![q]![r]',
    ['a.png', 'b.png'],
  ],
  [
    '4.7 the first of a label counts',
    '![r]\n\n[r]: a.png\n[r]: b.png',
    '![r]\n\n[r]: 1.png\n[r]: b.png\n\n![](2.png)',
    ['a.png', 'b.png'],
  ],
  [
    '4.7 the first of a label counts, of whatever it is',
    '![r]\n\n[r]: c.png\n[r]: a.png',
    '![r]\n\n[r]: c.png\n[r]: a.png\n\n![](1.png)',
  ],
  [
    '4.7 the first of a label counts, and be it empty',
    '![r]\n\n[r]: <>\n[r]: a.png',
    '![r]\n\n[r]: <>\n[r]: a.png\n\n![](1.png)',
  ],
  ['6.3 labels match in any case', '![ΑΓΩ]\n\n[αγω]: a.png', '![ΑΓΩ]\n\n[αγω]: 1.png'],
  ['6.3 labels are case-folded', '![SS]\n\n[ẞ]: a.png', '![SS]\n\n[ẞ]: 1.png'],
  ['6.3 blanks in labels are as one', '![ a\n  b ]\n\n[a b]: a.png', '![ a\n  b ]\n\n[a b]: 1.png'],
  ['6.3 labels match as written', '![a\\!]\n\n[a!]: a.png', '![a\\!]\n\n[a!]: 1.png\n\n![](1.png)'],
  ['6.3 an escaped bracket in a label', '![a][r\\]]\n\n[r\\]]: a.png', '![a][r\\]]\n\n[r\\]]: 1.png'],
  [
    '6.3 the second label wins',
    '![q][r]\n\n[q]: b.png\n[r]: a.png',
    '![q][r]\n\n[q]: 2.png\n[r]: 1.png\n\n![](2.png)',
    ['a.png', 'b.png'],
  ],
  [
    '6.3 inline wins',
    '![r](b.png)\n\n[r]: a.png',
    '![r](2.png)\n\n[r]: 1.png\n\n![](1.png)',
    ['a.png', 'b.png'],
  ],
  ['4.7 in a quote it counts for all', '![r]\n\n> [r]: a.png', '![r]\n\n> [r]: 1.png'],
  ['4.7 an empty one names nothing', '[q]: a.png\n[r]: <>\n\n![q]![r]', '[q]: 1.png\n[r]: <>\n\n![q]![r]'],
  ['4.7 one that nobody uses shows nothing', '[r]: a.png', '[r]: 1.png\n\n![](1.png)'],
  ['6.3 a link leads to it as well', '[x][r]\n\n[r]: a.png', '[x][r]\n\n[r]: 1.png'],
  [
    '6.4 nobody sees a link in a description',
    '![[x][r]](b.png)\n\n[r]: a.png',
    '![[x][r]](2.png)\n\n[r]: 1.png\n\n![](1.png)',
    ['a.png', 'b.png'],
  ],
]);

table('what is no image stays as written', [
  ['6.3 an inline link', '[x](a.png)', '[x](a.png)\n\n![](1.png)'],
  ['6.5 an autolink', '<https://e.example/![a](a.png)>', '<https://e.example/![a](a.png)>\n\n![](1.png)'],
  ['6.1 a code span', '`![a](a.png)`', '`![a](a.png)`\n\n![](1.png)'],
  ['6.1 a code span with backticks in it', '`` ` ![a](a.png) ``', '`` ` ![a](a.png) ``\n\n![](1.png)'],
  ['6.1 a backtick that opens nothing', '` ![a](a.png)', '` ![a](1.png)'],
  ['6.1 code binds tighter than brackets', '![a`](a.png)`', '![a`](a.png)`\n\n![](1.png)'],
  ['4.5 fenced code', '```\n![a](a.png)\n```\n', '```\n![a](a.png)\n```\n\n![](1.png)'],
  [
    '4.5 a definition in fenced code',
    '![r]\n\n~~~\n[r]: a.png\n~~~',
    '![r]\n\n~~~\n[r]: a.png\n~~~\n\n![](1.png)',
  ],
  ['4.5 after fenced code', '~~~\n```\n~~~\n![a](a.png)', '~~~\n```\n~~~\n![a](1.png)'],
  ['4.4 indented code', '    ![a](a.png)\n', '    ![a](a.png)\n\n![](1.png)'],
  ['4.4 code indented by a tab', '\t![a](a.png)\n', '\t![a](a.png)\n\n![](1.png)'],
  ['4.4 it cannot interrupt a paragraph', 'x\n    ![a](a.png)\n', 'x\n    ![a](1.png)\n'],
  ['4.6 an HTML block', '<div>\n![a](a.png)\n</div>', '<div>\n![a](a.png)\n</div>\n\n![](1.png)'],
  ['4.6 after an HTML block', '<div>\n\n![a](a.png)\n\n</div>', '<div>\n\n![a](1.png)\n\n</div>'],
  ['6.6 an HTML tag', 'x <b title="![a](a.png)">', 'x <b title="![a](a.png)">\n\n![](1.png)'],
  ['6.6 an HTML comment', 'x <!-- ![a](a.png) -->', 'x <!-- ![a](a.png) -->\n\n![](1.png)'],
  ['2.4 an escaped bracket', '!\\[a](a.png)', '!\\[a](a.png)\n\n![](1.png)'],
  ['2.4 an escaped closing bracket', '![a\\](a.png)', '![a\\](a.png)\n\n![](1.png)'],
  ['2.4 an escaped mark makes it a link', '\\![a](a.png)', '\\![a](a.png)\n\n![](1.png)'],
  ['2.4 an escaped backslash escapes nothing', '\\\\![a](a.png)', '\\\\![a](1.png)'],
]);

table('images in blocks', [
  ['5.1 a quote', '> ![a](a.png)', '> ![a](1.png)'],
  ['5.1 a quote, over two lines', '> ![a\n> b](a.png)', '> ![a\n> b](1.png)'],
  ['5.1 a lazy line', '> x\n![a](a.png)', '> x\n![a](1.png)'],
  ['5.2 a list', '- x\n- ![a](a.png)', '- x\n- ![a](1.png)'],
  ['5.2 the second paragraph of an item', '1. x\n\n   ![a](a.png)', '1. x\n\n   ![a](1.png)'],
  ['2.2 tabs as indentation', '-\t> ![a](a.png)\n\n\t![b](a.png)', '-\t> ![a](1.png)\n\n\t![b](1.png)'],
  ['2.2 tabs before it', '>\t-\tx\ty ![a](a.png)', '>\t-\tx\ty ![a](1.png)'],
  ['5.2 code in an item', '- x\n\n      ![a](a.png)', '- x\n\n      ![a](a.png)\n\n![](1.png)'],
  ['4.2 a heading', '# ![a](a.png) #', '# ![a](1.png) #'],
  ['4.3 an underlined heading', '![a](a.png)\n===', '![a](1.png)\n==='],
  ['GitHub: a table', '| x |\n| - |\n| ![a](a.png) |', '| x |\n| - |\n| ![a](1.png) |'],
  [
    'GitHub: an escaped bar in a table',
    '| x |\n| - |\n| ![a](a\\|b.png) |',
    '| x |\n| - |\n| ![a](1.png) |',
    ['a|b.png'],
  ],
  [
    'GitHub: the cells of a table are apart',
    '| x | y |\n| - | - |\n| ![a | b](a.png) |',
    '| x | y |\n| - | - |\n| ![a | b](a.png) |\n\n![](1.png)',
  ],
]);

table('every other character stays', [
  ['byte order mark', '\ufeff![a](a.png)\n', '\ufeff![a](1.png)\n'],
  ['a second byte order mark', '\ufeff\ufeff![a](a.png)', '\ufeff\ufeff![a](1.png)'],
  ['byte order mark before a definition', '\ufeff[r]: a.png\n\n![r]', '\ufeff[r]: 1.png\n\n![r]'],
  ['CRLF', 'x\r\n\r\n> y\r\n> ![a](a.png)\r\n', 'x\r\n\r\n> y\r\n> ![a](1.png)\r\n'],
  ['CR', 'x\r\r![a](a.png)\ry', 'x\r\r![a](1.png)\ry'],
  ['mixed line ends', 'x\r\ny\rz\n![a](a.png)', 'x\r\ny\rz\n![a](1.png)'],
  ['NUL', '\0![a\0](a.png)\0', '\0![a\0](1.png)\0'],
  ['NUL in a destination is U+FFFD', '![a](a\0.png)', '![a](1.png)', ['a\ufffd.png']],
  ['astral characters', '😀![😀](a.png)😀', '😀![😀](1.png)😀'],
  ['trailing spaces', '![a](a.png)  \nx \n', '![a](1.png)  \nx \n'],
]);

table('a picture that nobody refers to is added', [
  ['to an empty text', '', '![](1.png)'],
  ['to a byte order mark', '\ufeff', '\ufeff![](1.png)'],
  ['to a blank text', ' \t', ' \t\n![](1.png)'],
  ['to a blank text with line ends', '\r\n\r\n', '\r\n\r\n![](1.png)'],
  ['in order', 'x', 'x\n\n![](1.png)\n\n![](2.png)', ['a.png', 'b.png']],
  [
    'beside one that is referred to',
    '![b](b.png)',
    '![b](2.png)\n\n![](1.png)\n\n![](3.png)',
    ['a.png', 'b.png', 'c.png'],
  ],
  ['after a line end', 'x\n', 'x\n\n![](1.png)'],
  ['after a blank line', 'x\n\n', 'x\n\n![](1.png)'],
  ['after spaces', 'x\n  ', 'x\n  \n![](1.png)'],
  [
    'in CRLF, like the first line',
    'x\r\ny\n',
    'x\r\ny\n\r\n![](1.png)\r\n\r\n![](2.png)',
    ['a.png', 'b.png'],
  ],
  ['in CR', 'x\ry', 'x\ry\r\r![](1.png)'],
  ['in LF where CR would make one line end of two', 'x\ny\r', 'x\ny\r\n\n![](1.png)'],
]);

table('what is open at the end is closed first', [
  ['4.5 a fence', '```js\nx', '```js\nx\n```\n\n![](1.png)'],
  ['4.5 a fence after a line end', '~~~~\nx\n', '~~~~\nx\n~~~~\n\n![](1.png)'],
  ['4.5 a fence with fences in it', '````\n```\n```\n', '````\n```\n```\n````\n\n![](1.png)'],
  ['4.5 a fence and nothing else', '```', '```\n```\n\n![](1.png)'],
  ['4.5 a fence in CRLF', '```\r\nx', '```\r\nx\r\n```\r\n\r\n![](1.png)'],
  ['4.5 a fence after a closed one', '```\nx\n```\n~~~\ny', '```\nx\n```\n~~~\ny\n~~~\n\n![](1.png)'],
  ['4.5 a fence after a quote with one', '> ```\n\n~~~\ny', '> ```\n\n~~~\ny\n~~~\n\n![](1.png)'],
  ['5.1 a quote closes what is in it', '> ```\n> x', '> ```\n> x\n\n![](1.png)'],
  ['5.2 a list closes what is in it', '- <!--\n  x', '- <!--\n  x\n\n![](1.png)'],
  ['4.6 kind 1', '<PRE\nclass="x">\n\nx', '<PRE\nclass="x">\n\nx\n</pre>\n\n![](1.png)'],
  ['4.6 kind 1 is ended by any of them', '<script>\n\nx</style>y', '<script>\n\nx</style>y\n\n![](1.png)'],
  ['4.6 kind 2', '  <!-- x\n\n', '  <!-- x\n\n-->\n\n![](1.png)'],
  ['4.6 kind 2, ended on its first line', '<!-->\nx', '<!-->\nx\n\n![](1.png)'],
  ['4.6 kind 3', '<?php x >', '<?php x >\n?>\n\n![](1.png)'],
  ['4.6 kind 4', '<!DOCTYPE x', '<!DOCTYPE x\n>\n\n![](1.png)'],
  ['4.6 kind 5', '<![CDATA[ ]] >', '<![CDATA[ ]] >\n]]>\n\n![](1.png)'],
  ['4.6 kind 6 is ended by a blank line', '<div>\nx', '<div>\nx\n\n![](1.png)'],
  ['4.6 kind 7 is ended by a blank line', '<pre-x>\nx', '<pre-x>\nx\n\n![](1.png)'],
]);

t.test('pages show what is placed, whatever the text ends with', async (t) => {
  const base = 'https://notes.example/r/abc/';
  const picture = `<p><img src="${base}1.png" /></p>`;
  const endings = [
    ...[
      '',
      '\ufeff',
      'x',
      'x\n',
      'x  ',
      'x\\',
      '# x',
      'x\n---',
      '---',
      '> x',
      '> > x',
      '> ```\n> x',
      '- x',
      '-',
      '1. x\n   - y',
    ],
    ...[
      '- ```\n  x',
      '- x\n\n      code',
      '    code',
      '\tcode',
      '```',
      '```js\nx\n',
      '~~~~\n```\n',
      '| x |\n| - |\n| y |',
      '| x |\n| - |',
    ],
    ...[
      '<div>',
      '<div>\nx\n',
      '<b>',
      '<!-- x',
      '<!-- x\n\n',
      '<script>\nx\n\n',
      '<pre>\nx',
      '<?x\n\ny',
      '<!X\n\ny',
      '<![CDATA[\n\ny',
    ],
    ...['[r]: x', '[r]:', '[r]: x "t', '![a](', '[', '`x', '*x', '\\', '&', 'x\r', '```\rx\r\r', '- x\r\n'],
  ];
  for (const text of endings) {
    const placed = placePictures(text, stored(['a.png']));
    const html = shownNote(placed, base).html;
    t.ok(html.trimEnd().endsWith(picture), `${JSON.stringify(text)}: ${html}`);
  }
});

const PICTURES = stored([...INLINE_NAMES, ...DEFINED_NAMES, 'never.png']);
const FILES = new Map(PICTURES.map(({ name, file }) => [name, file]));

t.test('another parser finds the same document with other destinations and the pictures added', async () => {
  fc.assert(
    fc.property(markdownTexts, (text) => {
      const isPlaced = (name: string, type: string) => type === 'image' || DEFINED_NAMES.includes(name);
      const before = withFiles(outlineOf(text), (name, type) =>
        isPlaced(name, type) ? (FILES.get(name) ?? name) : name,
      );
      const shown = shownFiles(before);
      const added = PICTURES.filter(({ file }) => !shown.has(file)).map(({ file }) => `![](${file})`);
      const expected = [...before.children, ...outlineOf(added.join('\n\n')).children];
      return JSON.stringify(outlineOf(placePictures(text, PICTURES)).children) === JSON.stringify(expected);
    }),
    { numRuns: 2000 },
  );
});

t.test('only destinations change: what is placed can be taken back', async () => {
  const plain = fc.constantFrom(
    '![x](a.png)',
    '[r]: d.png',
    '![r]',
    '[x](l.png)',
    '`',
    '> ',
    '- ',
    '\t',
    'é',
    '\0',
  );
  const lineEnd = fc.constantFrom('\n', '\n\n', '\r\n', '\r\n\r\n', '\r');
  const texts = fc.array(fc.oneof(plain, plain, lineEnd)).map((parts) => parts.join(''));
  fc.assert(
    fc.property(texts, (text) => {
      const pictures = stored(['a.png', 'd.png']);
      const back = pictures.map(({ name, file }) => ({ name: file, file: name }));
      return placePictures(placePictures(text, pictures), back).startsWith(text);
    }),
  );
});

t.test('without pictures nothing changes', async () => {
  fc.assert(fc.property(fc.oneof(markdownTexts, fc.string()), (text) => placePictures(text, []) === text));
});
