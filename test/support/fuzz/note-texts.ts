/** Markdown of every kind, made fast: by its grammar, with changes to real texts and to hostile ones, and of random characters. */
import { readdirSync, readFileSync } from 'node:fs';
import { HOSTILE_NOTES } from '../hostile-notes.ts';
import { Random } from '../random.ts';
import { MARKS } from './short-texts.ts';

const ROOT = new URL('../../../', import.meta.url);
/** Longest text that anything is put into, in UTF-16 units, so that most texts stay quick. */
const USUAL = 600;
/** The largest note, bytes. */
const LARGEST = 100 * 1024;
/** Blocks in blocks, and parts of lines in parts. */
const MAX_DEPTH = 6;

const WORDS = [
  ...[
    'word',
    'a',
    'two words',
    'é',
    '日本語',
    'שלום',
    '😀',
    '&amp;',
    '&#106;',
    '&#x0;',
    '&bogus;',
    '\\*',
    '\\',
  ],
  ...[
    'http://a.example',
    'www.a.example',
    'a@b.example',
    '<http://a.example>',
    '<a@b.example>',
    '[x] ',
    '1.',
  ],
  ...[
    '[^a]',
    '[r]',
    '[r][]',
    '![r]',
    '[x][r]',
    '`code`',
    '`` ` ``',
    '<b>',
    '</b>',
    '<!-- c -->',
    '  \n',
    '\\\n',
  ],
];
const ADDRESSES = [
  ...['a.png', '<my file.png>', '../x', '/x', '#f', '?q', '//h.example/', '', '<>', 'mailto:a@b.example'],
  ...[
    'https://a.example/?a=1&b="2"',
    'http:x',
    'HTTPS://A',
    'javascript:alert(1)',
    'JaVa&#115;cript:alert(1)',
  ],
  ...['data:text/html,<script>alert(1)</script>', 'vbscript:x', '\x01javascript:alert(1)', '%6Aavascript:x'],
  ...[
    'java&Tab;script:alert(1)',
    'java&NewLine;script:x',
    'javascript&colon;alert(1)',
    'http://[',
    'https://\\x',
  ],
  ...[
    'http://a.example/"onmouseover="alert(1)',
    'blob:https://x/1',
    'file:///etc/passwd',
    'http:javascript:x',
  ],
];
const TITLES = ['', '', ' "t"', " 't'", ' (t)', '\n"t"', ' "\\" onclick=\\"x"', ' "&quot;><script>"', ' "<"'];
const HTML = [
  ...[
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<svg/onload=alert(1)>',
    '<style>*{}</style>',
  ],
  ...[
    '<a href="javascript:alert(1)">x</a>',
    '<iframe srcdoc="<script>x</script>">',
    '<base href=//evil.example>',
  ],
  ...['<form action=//evil.example><input name=a>', '<meta http-equiv=refresh content=0>', '<object data=x>'],
  ...['<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=x&gt;">'],
  ...[
    '</p></div></main>',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<?',
    '?>',
    '<!DOCTYPE html>',
    '<template>',
    '</',
  ],
  ...[
    '<noscript><p title="</noscript><img src=x onerror=x>">',
    '<select><option>',
    '<plaintext>',
    '<textarea>',
  ],
  ...[
    '<details open ontoggle=x>',
    '<div\nstyle=x>',
    '<kbd>',
    '</kbd>',
    '<title></title>',
    '<xmp>',
    '<table><tr><td>',
  ],
];

/** Every text of this project, and of the hostile ones, by its blocks and as a whole. */
function realTexts(): string[] {
  const folders = [new URL('docs/', ROOT), ROOT];
  const files = folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith('.md') ? [new URL(name, folder)] : [])),
  );
  const blocks = files.flatMap((file) => readFileSync(file, 'utf8').split(/\n(?=\n)/));
  return [...blocks, ...Object.values(HOSTILE_NOTES)].map((text) => text.slice(0, USUAL));
}

/** Makes texts as bytes, which are not always UTF-8; the same for a seed. */
export function noteTextMaker(seed: number): () => Buffer {
  const choices = new Random(seed);
  const { below, oneOf, oneIn } = choices;
  const real = realTexts();
  const grammar = grammarOf(choices);

  const character = (): string => {
    const limit = oneOf([0x80, 0x80, 0x100, 0x3000, 0x10000, 0x110000]);
    return String.fromCodePoint(below(limit));
  };
  const many = (count: number, one: () => string): string => Array.from({ length: count }, one).join('');

  /** Cut, doubled, joined with another, or with something put into it. */
  function changed(text: string): string {
    const [from, to] = [below(text.length + 1), below(text.length + 1)].sort((a, b) => a - b) as [
      number,
      number,
    ];
    switch (below(8)) {
      case 0:
        return text.slice(from, to);
      case 1:
        return text.slice(0, from) + text.slice(to);
      case 2:
        return text.slice(0, from) + text.slice(from, to).repeat(2 + below(3)) + text.slice(to);
      case 3:
        return text.slice(0, from) + oneOf(HTML) + text.slice(from);
      case 4:
        return text.slice(0, from) + many(1 + below(4), () => oneOf(MARKS)) + text.slice(to);
      case 5:
        return text.slice(0, from) + character() + text.slice(from);
      case 6:
        return text.slice(0, from) + oneOf(real).slice(below(40));
      default:
        return text.replaceAll('\n', oneOf(['\n> ', '\n    ', '\r\n', '\n\n', ' ', '\n- ', '\r']));
    }
  }

  function usual(): string {
    let text: string;
    switch (below(8)) {
      case 0:
        text = many(below(60), () => (oneIn(6) ? character() : oneOf(MARKS)));
        break;
      case 1:
        text = many(below(60), character);
        break;
      case 2:
        text = many(below(20), () => (oneIn(3) ? oneOf(MARKS) : oneOf(HTML)));
        break;
      case 3:
      case 4:
        text = oneOf(real);
        for (let n = below(5); n > 0; n -= 1) text = changed(text).slice(0, USUAL);
        break;
      case 5:
        text = changed(grammar.blocks(0));
        break;
      default:
        text = grammar.blocks(0);
    }
    return text.slice(0, USUAL);
  }

  return () => {
    const text = usual();
    let bytes = Buffer.from(text);
    if (oneIn(5_000)) bytes = Buffer.from(text.repeat(1 + LARGEST / (bytes.length + 1))).subarray(0, LARGEST);
    if (bytes.length > 0 && oneIn(50)) bytes[below(bytes.length)] = below(256);
    return bytes;
  };
}

/** Lines and blocks as CommonMark and GitHub have them, in one another. */
function grammarOf({ below, oneOf, oneIn }: Random) {
  const some = (most: number, between: string, one: () => string): string =>
    Array.from({ length: 1 + below(most) }, one).join(between);

  function line(depth: number): string {
    if (depth >= MAX_DEPTH || below(3) > 0) return oneIn(12) ? oneOf(HTML) : oneOf(WORDS);
    const inner = () => some(3, oneOf([' ', ' ', '', '\n']), () => line(depth + 1));
    switch (below(7)) {
      case 0: {
        const mark = oneOf(['*', '_', '**', '__', '***', '~~', '~', '`']);
        return mark + inner() + mark;
      }
      case 1:
        return `${oneOf(['[', '['])}${inner()}](${oneOf(ADDRESSES)}${oneOf(TITLES)})`;
      case 2:
        return `![${inner()}](${oneOf(ADDRESSES)}${oneOf(TITLES)})`;
      case 3:
        return `${oneOf(['', '!'])}[${inner()}][${oneOf(['r', 'R', 's', ''])}]`;
      case 4:
        return `<${oneOf(ADDRESSES)}>`;
      default:
        return inner();
    }
  }

  const lines = (depth: number) => some(4, oneOf([' ', ' ', '\n']), () => line(depth));
  const oneLine = (depth: number) => lines(depth).replaceAll('\n', ' ');
  const within = (first: string, others: string, text: string) =>
    first + text.replaceAll('\n', `\n${others}`);

  function table(depth: number): string {
    const columns = 1 + below(4);
    const row = (cell: () => string) =>
      `|${Array.from({ length: oneIn(6) ? below(6) : columns }, cell).join('|')}|`;
    const head = row(() => oneLine(depth + 2));
    const delimiters = `|${Array.from({ length: columns }, () => oneOf(['-', ':-', '-:', ':-:'])).join('|')}|`;
    return [head, delimiters, ...Array.from({ length: below(4) }, () => row(() => oneLine(depth + 2)))].join(
      '\n',
    );
  }

  function block(depth: number): string {
    const isDeep = depth >= MAX_DEPTH;
    switch (below(isDeep ? 8 : 14)) {
      case 0:
        return `${'#'.repeat(1 + below(7))} ${oneLine(depth)}`;
      case 1:
        return `${lines(depth)}\n${oneOf(['===', '---', '-'])}`;
      case 2: {
        const fence = oneOf(['```', '~~~', '````']);
        const info = oneOf(['', 'js', ' c++ x', 'a"b', 'JS"><script>', 'x'.repeat(30)]);
        return `${fence}${info}\n${lines(depth)}\n${oneIn(4) ? '' : fence}`;
      }
      case 3:
        return `[${oneOf(['r', 'R', 's', '^a', '^b'])}]: ${oneOf(ADDRESSES)}${oneOf(TITLES)}`;
      case 4:
        return oneOf(HTML) + (oneIn(2) ? lines(depth) + oneOf(HTML) : '');
      case 5:
        return oneOf(['---', '***', '* * *', '___']);
      case 6:
      case 7:
        return lines(depth);
      case 8:
        return within('> ', oneOf(['> ', '>', '']), blocks(depth + 1));
      case 9:
      case 10:
        return some(3, oneOf(['\n', '\n\n']), () => {
          const mark = oneOf(['- ', '* ', '+ ', '1. ', '7) ', '- [ ] ', '- [x] ', '-\t']);
          return within(mark, oneOf(['  ', '    ', '\t', '']), blocks(depth + 1));
        });
      case 11:
        return within('    ', '    ', lines(depth));
      case 12:
        return table(depth);
      default:
        return within(`[^${oneOf(['a', 'b'])}]: `, oneOf(['    ', '']), blocks(depth + 2));
    }
  }

  const blocks = (depth: number): string => some(3, oneOf(['\n\n', '\n\n', '\n']), () => block(depth));
  return { blocks };
}
