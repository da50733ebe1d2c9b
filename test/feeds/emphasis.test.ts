import fc from 'fast-check';
import t from 'tap';
import { withoutEmphasis } from '../../src/feeds/emphasis.ts';

const lines: [line: string, plain: string][] = [
  ['', ''],
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
  ['\\*a*', '\\*a*'],
  ['*a\\**', 'a\\*'],
  ['`*a*` *b*', '`*a*` b'],
  ['``*a`*`` *b*', '``*a`*`` b'],
  ['`*a*', '`a'],
  ['glob `*.ts` and `*.js`', 'glob `*.ts` and `*.js`'],
  ['*ä👍🏽*', 'ä👍🏽'],
  ['a*"b"*c', 'a*"b"*c'],
  ['👍*"b"*👍', '👍"b"👍'],
  ['**', '**'],
  ['* * *', '* * *'],
];
for (const [line, plain] of lines) {
  t.test(`"${line}"`, async (t) => t.equal(withoutEmphasis(line), plain));
}

t.test('nothing but marks is ever taken away', async () => {
  const text = fc.array(fc.constantFrom('*', '**', '_', '`', '\\', 'a', ' ', '.', '👍'), { maxLength: 30 });
  fc.assert(
    fc.property(
      text.map((pieces) => pieces.join('')),
      (line) => {
        const bare = (of: string) => of.replace(/[*_]/g, '');
        return bare(withoutEmphasis(line)) === bare(line);
      },
    ),
  );
});

t.test('a text in marks loses just these', async () => {
  const words = fc.stringMatching(/^[a-z]([a-z ]*[a-z])?$/);
  fc.assert(
    fc.property(words, fc.constantFrom('*', '**', '***', '_', '__'), (text, mark) => {
      return withoutEmphasis(`a ${mark}${text}${mark} b`) === `a ${text} b`;
    }),
  );
});
