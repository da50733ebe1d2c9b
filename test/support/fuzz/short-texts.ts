/** Texts of the marks of markdown, of the length that may be rendered on the event loop. */
import { Random } from '../random.ts';

export const MAX_LENGTH = 316;
/** The slowest texts that are kept to be varied. */
const KEPT = 40;

export const MARKS = [
  ...['>', '> ', '- ', '* ', '+ ', '1. ', '2) ', '# ', '## ', '=', '-', '---', '===', '|', '|-|', ':-'],
  ...['```', '~~~', '`', '``', '*', '**', '***', '_', '__', '~', '~~', '*a', '_a*', '**a ', ' *a', '~~a ~b'],
  ...[
    '[',
    ']',
    '](',
    ')',
    '![',
    '[a]',
    '[a]:',
    '[^a]',
    '[^a]: ',
    '[a]: b\n',
    '](a.png)',
    '](<',
    '>',
    '<',
    '<a',
    '<!--',
    '-->',
    '<?',
  ],
  ...[
    '\\',
    '\\\\',
    '&',
    '&amp;',
    '&#',
    'http://a.',
    'www.',
    'a@b.',
    '@',
    '!',
    '"',
    "'",
    '(',
    ')',
    '[x] ',
    '[ ] ',
  ],
  ...[
    'a',
    'b',
    'word ',
    '1',
    '.',
    ',',
    'é',
    '😀',
    '\u0300',
    '\ud83d',
    '\u00a0',
    '\u2028',
    '\u3000',
    '\ufeff',
  ],
  ...[
    '\0',
    '\x01',
    '\x0b',
    '\x0c',
    '\x1f',
    '\x7f',
    '\x85',
    '\ufffe',
    '\uffff',
    '\ufdd0',
    '\u{1ffff}',
    '\u200b',
  ],
  ...[' ', ' ', '  ', '   ', '    ', '\t', '\n', '\n', '\n', '\n\n', '\r', '\r\n', '\n ', '\n  ', '\n    '],
];

interface Timed {
  readonly text: string;
  readonly ms: number;
}

/** Makes texts, the same for a seed as long as the same are slow. */
export function textMaker(seed: number) {
  const { below, oneOf } = new Random(seed);
  const slowest: Timed[] = [];

  const piece = (): string =>
    below(12) === 0 ? String.fromCodePoint(below(below(2) ? 0x110000 : 0x3000)) : oneOf(MARKS);
  const pieces = (count: number): string => Array.from({ length: count }, piece).join('');

  /** A few pieces over and over, lines that grow or shrink, or anything. */
  function fresh(): string {
    const [first, unit, last] = [pieces(below(4)), pieces(1 + below(5)), pieces(below(4))];
    switch (below(4)) {
      case 0:
        return first + unit.repeat(below(MAX_LENGTH)) + last;
      case 1: {
        const lines = Array.from({ length: 2 + below(24) }, (_, n) => unit.repeat(n + 1) + last);
        return first + (below(2) ? lines : lines.reverse()).join('\n');
      }
      case 2:
        return first + `${unit}\n`.repeat(below(80)) + last;
      default:
        return pieces(1 + below(120));
    }
  }

  function varied(text: string): string {
    const [from, to] = [below(text.length + 1), below(text.length + 1)].sort((a, b) => a - b) as [
      number,
      number,
    ];
    const part = text.slice(from, to);
    switch (below(6)) {
      case 0:
        return text.slice(0, from) + piece() + text.slice(to);
      case 1:
        return text.slice(0, from) + pieces(1 + below(4)) + text.slice(from);
      case 2:
        return text.slice(0, from) + part.repeat(2 + below(6)) + text.slice(to);
      case 3:
        return text.slice(0, from) + text.slice(to);
      case 4:
        return text.replaceAll(oneOf([...text]) ?? ' ', piece);
      default:
        return part + oneOf(slowest).text;
    }
  }

  return {
    slowest,
    next(): string {
      const text = slowest.length > 0 && below(3) > 0 ? varied(oneOf(slowest).text) : fresh();
      return text.slice(0, MAX_LENGTH);
    },
    keepIfSlow(text: string, ms: number): void {
      if (slowest.length === KEPT && ms <= slowest.at(-1)!.ms) return;
      if (slowest.some((one) => one.text === text)) return;
      slowest.push({ text, ms });
      slowest.sort((a, b) => b.ms - a.ms);
      if (slowest.length > KEPT) slowest.pop();
    },
  };
}
