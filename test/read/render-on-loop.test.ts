/** Which texts are rendered on the event loop: only such that cannot hold it, because nothing can end them there. */
import fc from 'fast-check';
import { Tokenizer } from 'marked';
import t from 'tap';
import { renderOnLoop } from '../../src/read/render-on-loop.ts';
import { MARKS, MAX_LENGTH } from '../support/fuzz/short-texts.ts';

const bytes = (text: string) => Buffer.from(text);
const isRendered = (...texts: string[]) => renderOnLoop(texts.map(bytes)).length === texts.length;

/** Quotes in quotes, in fewer on each line: the parser's time doubles with each. */
const quotes = (mark: string) => Array.from({ length: 21 }, (_, n) => `${mark.repeat(21 - n)}a`).join('\n');

t.test('usual short texts', async (t) => {
  for (const text of [
    '',
    '# Title\n\nSome *words*, **bold** ones and `code`. It is 2026.\n',
    '- one\n- **two**\n- [ ] three\n\n1. a\n2) b\n',
    'https://a.example/?b=c [a](b.png "t") ![c](d.png)\r\n#tag 😀\r\n',
    '3.5 km, 5 > 4, a - b, a = b  \n*very* important',
    '```js\nlet x;\n```',
  ])
    t.ok(isRendered(text), text);
  t.ok(isRendered(...Array.from({ length: 50 }, (_, n) => `note ${n}`)));
});

t.test('texts that could take long are left to threads', async (t) => {
  for (const texts of [
    ['_a*'.repeat(106)],
    Array.from({ length: 50 }, (_, n) => `${n}`.padEnd(45, '_a*')),
    ...['>', '\x01>', '\0>', '\ufffe>', '\uffff>', '\ud800>', '>\x01', ' >', '\u2028>', '\ufeff>', '\r>'].map(
      (mark) => [quotes(mark)],
    ),
    ...['- ', '1. ', '- \x01'].map((mark) => [`${mark}${quotes('>').replaceAll('\n', '\n  ')}`]),
    ['- - - - a'],
    ['[^a]: - - - - a'],
    ['- [^a]: a'],
    ['-\x01 - a'],
    ['- a\n  - b'],
    ['1. a\n   2) b'],
    ['- =\n='],
    ['a\tb'],
    ['a\u00a0b'],
    ['a     b'],
    ['a\n    b'],
    ['|a|b|\n|-|-|'],
    ['a\n:-'],
    ['<div>'],
    ['***'],
    ['a\n-'],
  ])
    t.notOk(isRendered(...texts), encodeURI(texts[0]!.slice(0, 40).toWellFormed()));
});

/** How often the parser tried to find something while `work` ran. */
function attempts(work: () => void): number {
  let count = 0;
  const methods = Tokenizer.prototype as unknown as Record<string, (...values: unknown[]) => unknown>;
  const originals = Object.getOwnPropertyNames(methods).filter((name) => name !== 'constructor');
  const restore = originals.map((name) => {
    const original = methods[name]!;
    methods[name] = function (...values) {
      count += 1;
      return original.apply(this, values);
    };
    return () => {
      methods[name] = original;
    };
  });
  try {
    work();
  } finally {
    for (const undo of restore) undo();
  }
  return count;
}

const piece = fc.oneof(
  { arbitrary: fc.constantFrom(...MARKS), weight: 6 },
  fc.nat(0x10ffff).map((code) => String.fromCodePoint(code)),
  fc.nat(0x1f).map((code) => String.fromCodePoint(code)),
);
const pieces = (maxLength: number) => fc.array(piece, { maxLength }).map((parts) => parts.join(''));
/** A few pieces over and over, in lines that get longer or shorter, or anything. */
const shortText = fc
  .tuple(pieces(3), pieces(4), pieces(3), fc.nat(100), fc.nat(3))
  .chain(([first, unit, last, count, kind]) => {
    const lines = Array.from({ length: count % 24 }, (_, n) => unit.repeat(n + 1) + last);
    if (kind === 0) return fc.constant(first + unit.repeat(count) + last);
    if (kind === 1) return fc.constant(first + lines.join('\n'));
    if (kind === 2) return fc.constant(first + lines.reverse().join('\n'));
    return pieces(100);
  })
  .map((text) => text.slice(0, MAX_LENGTH));

t.test('whatever is rendered at once takes the parser few attempts, and stays small', async (t) => {
  t.ok(attempts(() => renderOnLoop([bytes('*a* b')])) > 10, 'they are counted');
  let most = 0;
  fc.assert(
    fc.property(shortText, (text) => {
      let length = 0;
      const count = attempts(() => {
        for (const rendered of renderOnLoop([bytes(text)])) length = rendered.htmlLength;
      });
      most = Math.max(most, count / (text.length + 1));
      return count <= 40 * (text.length + 10) && length <= 100_000;
    }),
    { numRuns: 5_000 },
  );
  t.comment(`at most ${most.toFixed(0)} attempts for each character`);
});
