import fc from 'fast-check';

/** Only images and inline links use these names, and only definitions the others. */
export const INLINE_NAMES = ['a.png', 'my file.png', 'b(1).jpg'];
export const DEFINED_NAMES = ['d.png', 'é😀 e.gif', '100%.webp'];

const destination = (names: Record<string, readonly string[]>) =>
  fc.constantFrom(...Object.values(names).flat());
const inlineDestination = destination({
  'a.png': ['a.png', '<a.png>', 'a\\.png', '%61.png', 'a&period;png'],
  'my file.png': ['<my file.png>', 'my%20file.png', 'my&#32;file.png', '<my%20file.png>'],
  'b(1).jpg': ['b(1).jpg', 'b\\(1\\).jpg', '<b(1).jpg>', 'b%281%29.jpg'],
  other: ['other.png', '', '<>', 'https://example.com/a.png'],
});
const definedDestination = destination({
  'd.png': ['d.png', '<d.png>', 'd%2Epng'],
  'é😀 e.gif': ['<é😀 e.gif>', '%C3%A9%F0%9F%98%80%20e.gif', '&eacute;😀%20e.gif'],
  '100%.webp': ['100%.webp', '<100%.webp>', '100%25.webp'],
  other: ['other.png', '<>'],
});
const title = fc.constantFrom('', '', ' "t"', " 't\\'s'", ' (t)', '\n"t"');
const label = fc.constantFrom('r', 'R', 'two words', 'two\nwords', 'ß', 'SS', '\\]', 'ok!');
const words = fc.constantFrom(
  'word',
  'a_b',
  '**bold**',
  '`![a](a.png)`',
  '\\![a](a.png)',
  'x<b title="![a](a.png)">',
  '1)',
  '&amp;',
);

const inline = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    words,
    fc
      .tuple(fc.constantFrom('!', '!', ''), tie('text'), inlineDestination, title)
      .map(([mark, text, to, named]) => `${mark}[${text}](${to}${named})`),
    fc
      .tuple(fc.constantFrom('!', '!', ''), tie('text'), label)
      .map(([mark, text, to]) => `${mark}[${text}][${to}]`),
    fc
      .tuple(fc.constantFrom('!', ''), label, fc.constantFrom('[]', ''))
      .map((parts) => `${parts[0]}[${parts[1]}]${parts[2]}`),
    fc.array(tie('text'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join(' ')),
    fc.tuple(tie('text'), tie('text')).map((parts) => parts.join('\n')),
  ),
})).text;

const definition = fc
  .tuple(label, fc.constantFrom(' ', '\n', ''), definedDestination, title)
  .map(([name, space, to, named]) => `[${name}]:${space}${to}${named}`);

const prefixed = (text: string, first: string, others: string) =>
  first + text.replaceAll('\n', `\n${others}`);

const block = fc.letrec<{ block: string; blocks: string }>((tie) => ({
  block: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    inline,
    definition,
    inline.map((text) => `# ${text.replaceAll('\n', ' ')}`),
    inline.map((text) => `${text}\n===`),
    inline.map((text) => prefixed(text, '    ', '    ')),
    inline.map((text) => `\`\`\`md\n${text}\n\`\`\``),
    inline.map((text) => `~~~~\n${text}`),
    fc
      .tuple(
        fc.constantFrom('<!-- ', '<div>', '<pre>', '<?', '<![CDATA['),
        inline,
        fc.constantFrom('', '-->', '</pre>', '?>', ']]>'),
      )
      .map((parts) => parts.join('')),
    tie('blocks').map((text) => prefixed(text, '> ', '> ')),
    tie('blocks').map((text) => prefixed(text, '> ', '')),
    tie('blocks').map((text) => prefixed(text, '>\t', '>\t')),
    tie('blocks').map((text) => prefixed(text, '- ', '  ')),
    tie('blocks').map((text) => prefixed(text, '1.  ', '    ')),
    tie('blocks').map((text) => prefixed(text, '*\t', '\t')),
  ),
  blocks: fc.array(tie('block'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('\n\n')),
})).blocks;

/** Texts of the marks that matter here, in no order: mostly nonsense, which parsers must agree on all the same. */
const soup = fc
  .array(
    fc.constantFrom(
      ...[
        '![',
        '[',
        ']',
        '](',
        ')',
        '](a.png)',
        '](<my file.png> "t")',
        '![x](b\\(1\\).jpg)',
        '[r]: d.png',
        '[r]:',
        '![r]',
      ],
      ...[
        '[r][]',
        '[x][r]',
        ' ',
        '\t',
        '\n',
        '\n',
        '\n\n',
        '> ',
        '- ',
        '1. ',
        '    ',
        '# ',
        '`',
        '``',
        '```\n',
        '~~~',
      ],
      ...[
        '<!--',
        '-->',
        '<div>',
        '<pre>',
        '</pre>',
        'x<a',
        '>',
        '\\',
        '"',
        '&amp;',
        '*',
        '_',
        'word',
        '---',
        '\0',
        '😀',
      ],
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

const ending = fc.constantFrom('', '', '\n', '\n\n', '  ', '\n    ', '\n\t\n');

/** A bracket behind another one that begins no label: none that ends, or one with other brackets in it. */
const NO_LABEL = /\]\[(?!(?:[^\\[\]\r\n]|\\.|(?:\r\n|[\r\n])[ \t>]*[a-z])*\])/;
/** A tag that is alone on its line; of those in the texts here, only this one can be on a lazy line. */
const LONE_TAG = /(?:^|[\r\n])[ \t>]*<\/pre>[ \t]*(?:[\r\n]|$)/;
/** Tabs in a definition: behind its colon, or its destination. */
const TAB_IN_DEFINITION = /\]:[ \r\n>]*(?:(?:<[^<>\r\n]*>|[^\s<]\S*) *)?\t/;

/**
 * Where micromark 4.0 is wrong: a CDATA block ends with `]]]>` too, a list item without a text ends indented code, a
 * shortcut reference may stand before a bracket that begins no label, and a tag alone on a lazy line ends no paragraph
 * (CommonMark 4.6, 5.2, 6.4 and 5.1). Where commonmark.js 0.31 is: tabs may follow the colon and the destination of a
 * definition (4.7).
 */
function isMisread(text: string): boolean {
  if (TAB_IN_DEFINITION.test(text) || NO_LABEL.test(text)) return true;
  if (LONE_TAG.test(text) && /(?:>|[-*+]|\d[.)])[ \t]/.test(text)) return true;
  const hasEmptyItem = /(?:[-*+]|\d[.)])[ \t]*(?:[\r\n]|$)/.test(text);
  return text.includes(']]]>') || (hasEmptyItem && / {4}|\t/.test(text));
}

/** Markdown texts with blocks in blocks, images, definitions, code and HTML, in all styles of line ends. */
export const markdownTexts = fc
  .tuple(
    fc.constantFrom('', '', '\ufeff'),
    fc.oneof(block, soup),
    ending,
    fc.constantFrom('\n', '\r\n', '\r'),
  )
  .map(([bom, text, end, lineEnd]) => bom + (text + end).replaceAll('\n', lineEnd))
  .filter((text) => !isMisread(text));
