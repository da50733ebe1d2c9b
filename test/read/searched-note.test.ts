import fc from 'fast-check';
import t from 'tap';
import { CpuLimit } from '../../src/read/cpu-limit.ts';
import { plainText as plainTextOf } from '../../src/read/note-html.ts';
import { searchedAsWritten, searchedNote } from '../../src/read/searched-note.ts';
import { wordsOf } from '../../src/search/words.ts';
import { HOSTILE_NOTES, hostileText } from '../support/hostile-notes.ts';
import { markdownTexts } from '../support/markdown-texts.ts';
import { shownNote } from '../support/rendered.ts';
import { plainText as textOfHtml } from '../support/strict-html.ts';

const NO_LIMIT = 600_000;
const plain = (markdown: string) => plainTextOf(Buffer.from(markdown), new CpuLimit(NO_LIMIT))!;
const words = (text: string) => Array.from(wordsOf(text), ({ word }) => word);

/** The text of HTML with alternative texts, but without the numbers of footnotes; elements other than these make lines. */
function shownWords(html: string): string[] {
  const text = html
    .replace(
      /<img[^>]*?(?: alt="([^"]*)")?[^>]*>/g,
      (image) => ` ${/ alt="([^"]*)"/.exec(image)?.[1] ?? ''} `,
    )
    .replace(/<sup>\d+<\/sup>|<\/?(?:a|code|del|em|strong)(?: [^>]*)?>/g, '')
    .replace(/<[^>]*>/g, ' ');
  return words(textOfHtml(text));
}

t.test('what people read', async (t) => {
  const cases: Record<string, string> = {
    '': '',
    '# A *title* #\nand [a link](https://x.example/y "tip")': 'A title and a link',
    'https://x.example/y <https://z.example> www.w.example':
      'https://x.example/y https://z.example www.w.example',
    'in**ter**est and `code`': 'interest and code',
    '- a\n  - b\n    1. c\n- [x] d': 'a b c ☑ d',
    '- a\n  ```sh\n  b\n  ```\n  > c': 'a b c',
    '|a|b|\n|-|-|\n|1|2|\n\nc': 'a b 1 2 c',
    'a![b](c.png)d': 'a b d',
    '[![b](c.png)](https://x.example)': 'b',
    '[a]: https://x.example\n\n[b][a]': 'b',
    'a[^1] b[^2]\n\n[^2]: two\n[^1]: one\n[^3]: three': 'a b one two',
    'a[^1]\n\n[^1]: - one\n\n    two': 'a one two',
    'a\\\nb  \nc\nd': 'a b c d',
    '&lt;b&gt; \\* &copy;&nbsp;x': '<b> * © x',
    '<b>a</b> <!-- c -->': '<b>a</b> <!-- c -->',
    'a\0b\ufffe&#1;': 'ab',
    '\ufeffa\r\nb': 'a b',
  };
  for (const [markdown, text] of Object.entries(cases))
    t.equal(plain(markdown).replace(/\s+/g, ' ').trim(), text, markdown);
});

t.test('the words are those of the HTML', async (t) => {
  const areSame = (markdown: string) => {
    const { html } = shownNote(markdown, 'https://notes.example/r/abc/');
    const found = words(plain(markdown));
    const shown = shownWords(html);
    if (found.join(' ') !== shown.join(' '))
      throw new Error(`${found} are not ${shown} of ${JSON.stringify(markdown)}`);
  };
  for (const [name, text] of Object.entries(HOSTILE_NOTES)) t.doesNotThrow(() => areSame(text), name);
  fc.assert(fc.property(fc.oneof(markdownTexts, hostileText()), areSame), { numRuns: 500 });
});

t.test('what of a note is searched', async (t) => {
  const content = Buffer.from('*a*');
  const limit = new CpuLimit(NO_LIMIT);
  t.same(searchedNote({ content, meta: { tags: ['x'], title: 'T' } }, limit), {
    title: 'T',
    text: '\na\n',
    alt: '',
    name: '',
    tags: ['x'],
  });
  t.same(searchedNote({ content: undefined, meta: { tags: [], alt: 'A', name: 'n.png' } }, limit), {
    title: '',
    text: '',
    alt: 'A',
    name: 'n.png',
    tags: [],
  });
  const slow = Buffer.from(`${'*a_b '.repeat(5000)}\0`);
  t.equal(searchedNote({ content: slow, meta: { tags: [] } }, new CpuLimit(0)).text, '*a_b '.repeat(5000));
  t.equal(searchedAsWritten({ content: slow, meta: { tags: [] } }).text, '*a_b '.repeat(5000));
});
