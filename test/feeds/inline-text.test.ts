import fc from 'fast-check';
import t from 'tap';
import { inlineText } from '../../src/feeds/inline-text.ts';

const plain = (line: string) => inlineText(line, (label) => label === 'LABEL');

const lines: [line: string, text: string][] = [
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
  ['\\*a*', '*a*'],
  ['*a\\**', 'a*'],
  ['`*a*` *b*', '*a* b'],
  ['``*a`*`` *b*', '*a`* b'],
  ['`*a*', '`a'],
  ['glob `*.ts` and `*.js`', 'glob *.ts and *.js'],
  ['*ä👍🏽*', 'ä👍🏽'],
  ['a*"b"*c', 'a*"b"*c'],
  ['👍*"b"*👍', '👍"b"👍'],
  ['**', '**'],
  ['* * *', '* * *'],
  ['~~a~~ ~b~ ~~~c~~~', 'a b ~~~c~~~'],
  ['`` `a` ``', '`a`'],
  ['` a ` ` `', 'a  '],
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
for (const [line, text] of lines) {
  t.test(`"${line}"`, async (t) => t.equal(plain(line), text));
}

t.test('nothing but marks is ever taken away', async () => {
  const text = fc.array(fc.constantFrom('*', '**', '_', 'a', ' ', '.', '👍'), { maxLength: 30 });
  fc.assert(
    fc.property(
      text.map((pieces) => pieces.join('')),
      (line) => {
        const bare = (of: string) => of.replace(/[*_]/g, '');
        return bare(plain(line)) === bare(line);
      },
    ),
  );
});

t.test('a text in marks loses just these', async () => {
  const words = fc.stringMatching(/^[a-z]([a-z ]*[a-z])?$/);
  fc.assert(
    fc.property(words, fc.constantFrom('*', '**', '***', '_', '__'), (text, mark) => {
      return plain(`a ${mark}${text}${mark} b`) === `a ${text} b`;
    }),
  );
});

t.test('long lines of what makes parsers slow', async () => {
  for (const piece of [
    '[',
    '](',
    '![a](b',
    '[a][',
    '`',
    '` `` ``` ',
    '*a',
    '_a*',
    '<a',
    '&a',
    '](a "',
    '[a](b (',
    ']',
    'a]',
  ])
    plain(piece.repeat(100_000 / piece.length));
});
