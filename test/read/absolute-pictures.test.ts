import fc from 'fast-check';
import t from 'tap';
import { absolutePictures } from '../../src/read/absolute-pictures.ts';
import { hostileText } from '../support/hostile-notes.ts';

const folder = 'https://notes.example/r/abc/';
const absolute = (markdown: string) => absolutePictures(markdown, folder);

t.test('references to the own pictures become absolute', async (t) => {
  const cases: Record<string, string> = {
    '![alt](x.png)': `![alt](${folder}x.png)`,
    '![alt](20260102T030405Z-0.webp)': `![alt](${folder}20260102T030405Z-0.webp)`,
    '![](x.jpg "title") ![](y.gif)': `![](${folder}x.jpg "title") ![](${folder}y.gif)`,
    '![a [b] c](x.png)': `![a [b] c](${folder}x.png)`,
    '[![a](x.png)](y.png)': `[![a](${folder}x.png)](${folder}y.png)`,
    '![a](<x.png>) ![a](<my photo.png>)': `![a](<${folder}x.png>) ![a](<${folder}my photo.png>)`,
    '![a](my%20photo.png)': `![a](${folder}my%20photo.png)`,
    '![a](größe.png)': `![a](${folder}größe.png)`,
    '![a][b]\n\n[b]: x.png "title"': `![a][b]\n\n[b]: ${folder}x.png "title"`,
    '- ![a](x.png)\r\n> ![a](y.png)\r\n': `- ![a](${folder}x.png)\r\n> ![a](${folder}y.png)\r\n`,
    'see `x` ![a](x.png) `![a](x.png)`': `see \`x\` ![a](${folder}x.png) \`![a](x.png)\``,
    '```x``` is code\n\n![a](x.png)': `\`\`\`x\`\`\` is code\n\n![a](${folder}x.png)`,
    '```\n![a](x.png)\n```\n![a](x.png)': `\`\`\`\n![a](x.png)\n\`\`\`\n![a](${folder}x.png)`,
  };
  for (const [markdown, expected] of Object.entries(cases)) t.equal(absolute(markdown), expected);
});

t.test('everything else stays as written', async (t) => {
  const cases = [
    ...['![a](https://a.example/x.png)', '![a](/x.png)', '![a](../x.png)', '![a](a/x.png)', '![a](x.svg)'],
    ...[
      '![a](x.png#a)',
      '![a](x.png?a)',
      '![a](a.b.png)',
      '![a](.png)',
      '![a](data:x.png)',
      'x.png',
      '(x.png)',
    ],
    ...['`![a](x.png)`', '``a ` ![a](x.png)``', '`a\n![a](x.png)\nb`', '    ![a](x.png)', '\t![a](x.png)'],
    ...[
      '~~~\n![a](x.png)\n```\n![a](x.png)',
      '````\n```\n![a](x.png)',
      '```\n~~~\n![a](x.png)\n``` a\n![a](x.png)',
    ],
  ];
  for (const markdown of cases) t.equal(absolute(markdown), markdown);
});

t.test('only insertions of the folder, whatever the text', async () => {
  const pictures = fc.array(
    fc.constantFrom(
      '![a](x.png)',
      '](',
      'x.png',
      ')',
      '<',
      '>',
      '`',
      '``',
      '```',
      '~~~',
      '\n',
      '[b]: ',
      ' ',
      '    ',
    ),
    { maxLength: 30 },
  );
  const text = fc.oneof(
    pictures.map((pieces) => pieces.join('')),
    hostileText(),
  );
  fc.assert(
    fc.property(text, (markdown) => absolute(markdown).replaceAll(folder, '') === markdown),
    { numRuns: 3000 },
  );
});

t.test('long hostile lines', async (t) => {
  const size = 100 * 1024;
  const runs = Array.from({ length: 400 }, (_, length) => '`'.repeat(length)).join(' ');
  for (const piece of [
    '](',
    '](<',
    '![',
    '[a]: ',
    '`',
    '` ',
    '](a',
    '](a.png',
    '[a\n',
    `${runs}\n`,
    '](<a ',
  ]) {
    const text = `${piece.repeat(size / piece.length)}.png`;
    t.equal(absolute(text).replaceAll(folder, ''), text, piece.slice(0, 10));
  }
});
