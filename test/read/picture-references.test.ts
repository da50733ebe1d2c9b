/** Which references of a text become absolute, for those who read the markdown. */
import fc from 'fast-check';
import t from 'tap';
import { parseNoteFile } from '../../src/feeds/names.ts';
import { exactText } from '../../src/read/note-text.ts';
import { picturesOf } from '../../src/read/picture-sizes.ts';
import { hostileText } from '../support/hostile-notes.ts';
import { markdownTexts } from '../support/markdown-texts.ts';
import { shownNote } from '../support/rendered.ts';
import { pictureNote, unrenderedNote } from '../support/view-notes.ts';

const folder = 'https://notes.example/r/abc/';
const bytes = (text: string) => new TextEncoder().encode(text);
const html = (text: string, base: string) => shownNote(bytes(text), base).html;
const absolute = (text: string) => shownNote(bytes(text), folder).text ?? exactText(bytes(text));

t.test('references to the own pictures become absolute', async (t) => {
  const cases: Record<string, string> = {
    '![alt](x.png)': `![alt](${folder}x.png)`,
    '![alt](20260102T030405Z-0.webp)': `![alt](${folder}20260102T030405Z-0.webp)`,
    '![](x.jpg "title") ![](y.gif)': `![](${folder}x.jpg "title") ![](${folder}y.gif)`,
    '![a [b] c](x.png)': `![a [b] c](${folder}x.png)`,
    '[![a](x.png)](y.png)': `[![a](${folder}x.png)](${folder}y.png)`,
    '![a](<x.png>) ![a](<my photo.png>)': `![a](<${folder}x.png>) ![a](<${folder}my photo.png>)`,
    '![a](my%20photo.png)': `![a](${folder}my%20photo.png)`,
    '![a](größe.png) ![a](_x_.png)': `![a](${folder}größe.png) ![a](${folder}_x_.png)`,
    '![a](b\\(1\\).jpg) ![a](a&period;png)': `![a](${folder}b\\(1\\).jpg) ![a](${folder}a&period;png)`,
    '![a][b] [b]\n\n[b]: x.png "title"': `![a][b] [b]\n\n[b]: ${folder}x.png "title"`,
    '> ![a][b]\n>\n> [b]:\n> <x.png>': `> ![a][b]\n>\n> [b]:\n> <${folder}x.png>`,
    '- ![a](x.png)\r\n> ![a](y.png)\r\n': `- ![a](${folder}x.png)\r\n> ![a](${folder}y.png)\r\n`,
    '- item\n\n    ![x](cat.png)\n': `- item\n\n    ![x](${folder}cat.png)\n`,
    '-\titem\n\n\t![x](cat.png)\n': `-\titem\n\n\t![x](${folder}cat.png)\n`,
    'see `x` ![a](x.png) `![a](x.png)`': `see \`x\` ![a](${folder}x.png) \`![a](x.png)\``,
    '```\n![a](x.png)\n```\n![a](x.png)': `\`\`\`\n![a](x.png)\n\`\`\`\n![a](${folder}x.png)`,
    '- [ ] ![a](x.png)\n- [x]  x ![a](y.png)': `- [ ] ![a](${folder}x.png)\n- [x]  x ![a](${folder}y.png)`,
    '|a\\|b|`![a](x.png)`|\n|-|-|\n|c|![a](x.png)|![a](x.png)|\n|d|![a](x.png)|': `|a\\|b|\`![a](x.png)\`|\n|-|-|\n|c|![a](${folder}x.png)|![a](x.png)|\n|d|![a](${folder}x.png)|`,
    '> 1. ![a](\n>    1.png)x': `> 1. ![a](\n>    ${folder}1.png)x`,
    '[![a \\[1\\]](x.png)](y.png)': `[![a \\[1\\]](${folder}x.png)](${folder}y.png)`,
    '![r](x.png)\n\n[r]: y.png': `![r](${folder}x.png)\n\n[r]: y.png`,
    '![r]\n\n[r]: x.png\n[r]: y.png': `![r]\n\n[r]: ${folder}x.png\n[r]: y.png`,
    '\ufeff![a](x.png)': `\ufeff![a](${folder}x.png)`,
    'a\0b ![a](x.png)': `a\0b ![a](${folder}x.png)`,
  };
  for (const [markdown, expected] of Object.entries(cases)) t.equal(absolute(markdown), expected);
});

t.test('everything else stays as written', async (t) => {
  const cases = [
    ...['![a](https://a.example/x.png)', '![a](/x.png)', '![a](../x.png)', '![a](a/x.png)', '![a](x.svg)'],
    ...['![a](x.png#a)', '![a](x.png?a)', '![a](a.b.png)', '![a](.png)', '![a](data:x.png)', '[a](x.md)'],
    ...['x.png', '(x.png)', '\\![a\\](x.png)', '![a](x.png', '<img src="](x.png)">', '[unused]: x.png'],
    ...['`![a](x.png)`', '``a ` ![a](x.png)``', '`a\n![a](x.png)\nb`', '    ![a](x.png)', '\t![a](x.png)'],
    ...['~~~\n![a](x.png)\n```\n![a](x.png)', '````\n```\n![a](x.png)', `${'>'.repeat(400)} ![a](x.png)`],
    '![a ![b](x.png)](https://a.example/y.png)',
  ];
  for (const markdown of cases) t.equal(absolute(markdown), markdown);
});

/** Addresses of the HTML that a reader of the text elsewhere would not find. */
function relativePictures(text: string): string[] {
  const elsewhere = 'https://elsewhere.example/';
  return [...html(text, elsewhere).matchAll(/(?:src|href)="https:\/\/elsewhere\.example\/([^"]*)"/g)]
    .map(([, name = '']) => decodeURIComponent(name))
    .filter((name) => /\.(?:png|jpg|gif|webp)$/.test(name) && parseNoteFile(name) !== undefined);
}

t.test('the text is as absolute as the HTML, and means the same', async () => {
  fc.assert(
    fc.property(markdownTexts, (text) => {
      const placed = absolute(text);
      if (html(placed, folder) !== html(text, folder)) throw new Error(`means something else: ${placed}`);
      const relative = relativePictures(placed);
      if (relative.length > 0) throw new Error(`relative: ${relative.join()} in ${placed}`);
    }),
    { numRuns: 800 },
  );
});

t.test('only insertions of the folder, whatever the text', async () => {
  const pieces = '![a](x.png)|](|x.png|)|<|>|`|``|```|~~~|\n|[b]: |[b]| |    |\\|_|*'.split('|');
  const text = fc.oneof(
    fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join('')),
    hostileText().map((hostile) => hostile.toWellFormed()),
  );
  fc.assert(
    fc.property(text, (markdown) => absolute(markdown).replaceAll(folder, '') === markdown),
    { numRuns: 800 },
  );
});

t.test('long hostile texts', async (t) => {
  const size = 100 * 1024;
  for (const piece of [
    '](',
    '](<',
    '](a',
    ']:a',
    '](a.png',
    ']: ',
    '\\',
    '\\]',
    '](*',
    ']('.padEnd(800, 'a'),
  ]) {
    const text = `${piece.repeat(size / piece.length)}.png`;
    t.equal(absolute(text).replaceAll(folder, ''), text, piece.slice(0, 10));
  }
});

t.test('of a text that is full of names only the first are looked at', async (t) => {
  const text = Array.from({ length: 3_000 }, (_, n) => `p${n}.png`).join(' ');
  const found = picturesOf([unrenderedNote(text), pictureNote()]);
  t.equal(found.size, 2_001, 'pictures themselves do not count');
});
