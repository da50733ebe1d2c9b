import fc from 'fast-check';
import t from 'tap';
import { unrendered } from '../../src/read/note-html.ts';
import { placedHtml } from '../../src/read/note-text.ts';
import { HOSTILE_NOTES, hostileText } from '../support/hostile-notes.ts';
import { markdownTexts } from '../support/markdown-texts.ts';
import { shownNote } from '../support/rendered.ts';
import { sanitized } from '../support/sanitizer.ts';
import { pageViolations, plainText, violations } from '../support/strict-html.ts';

const base = 'https://notes.example/r/abc/';
const bytes = (text: string) => new TextEncoder().encode(text);
const rendered = (text: string) => shownNote(bytes(text), base);
/** A note that is not rendered. */
const asText = (note: Uint8Array) => placedHtml(unrendered(note), base);
/** The note in a page, as `pageViolations` expects it. */
const inPage = (note: Uint8Array) =>
  shownNote(note, base, { level: 2, sizes: new Map(), id: 'the-note' }).html.trim();
const render = (text: string) => rendered(text).html.trim();

t.test('the usual markdown', async (t) => {
  const cases: Record<string, string> = {
    '# Title': '<h1>Title</h1>',
    '*a* **b** ~~c~~ `d`': '<p><em>a</em> <strong>b</strong> <del>c</del> <code>d</code></p>',
    'a\\\nb': '<p>a<br />b</p>',
    '- a\n- b': '<ul>\n<li>a</li>\n<li>b</li>\n</ul>',
    '3. a': '<ol start="3">\n<li>a</li>\n</ol>',
    '- [ ] a\n- [x] b': '<ul>\n<li>☐ a</li>\n<li>☑ b</li>\n</ul>',
    '```js\na < b\n```': '<pre><code class="language-js">a &lt; b\n</code></pre>',
    '``` C++ x="y"\na\n```': '<pre><code class="language-c++">a\n</code></pre>',
    '```a"b\na\n```': '<pre><code>a\n</code></pre>',
    [`\`\`\`${'x'.repeat(21)}\na\n\`\`\``]: '<pre><code>a\n</code></pre>',
    '![](/a)': '<p><img src="https://notes.example/a" /></p>',
    'https://a.example/?b=1&c=2':
      '<p><a href="https://a.example/?b=1&amp;c=2">https://a.example/?b=1&amp;c=2</a></p>',
    '': '',
    '\ufeff# Title': '<h1>Title</h1>',
  };
  for (const [markdown, html] of Object.entries(cases)) t.equal(render(markdown), html, markdown);
  t.match(render('|a|b|\n|:-|-|\n|1|2|'), '<td align="left">1</td>\n<td>2</td>');
});

t.test('relative references become absolute, absolute ones stay as written', async (t) => {
  const links: Record<string, string | undefined> = {
    'x.png': 'https://notes.example/r/abc/x.png',
    '<my file.png>': 'https://notes.example/r/abc/my%20file.png',
    'my%20file.png': 'https://notes.example/r/abc/my%20file.png',
    '/top': 'https://notes.example/top',
    '#part': 'https://notes.example/r/abc/#part',
    '//other.example/x': 'https://other.example/x',
    'https:x.png': 'https://notes.example/r/abc/x.png',
    'http://Other.example': 'http://Other.example',
    'HTTPS://other.example': 'HTTPS://other.example',
    'javascript:alert(1)': undefined,
    'ftp://other.example/': undefined,
    'http://[': undefined,
  };
  const address = (html: string) => /(?:src|href)="([^"]*)"/.exec(html)?.[1];
  for (const [reference, expected] of Object.entries(links)) {
    t.equal(address(render(`![alt](${reference})`)), expected, `picture ${reference}`);
    t.equal(address(render(`[text](${reference})`)), expected, `link ${reference}`);
  }
  t.equal(address(render('[m](mailto:a@b.example)')), 'mailto:a@b.example');
  t.equal(address(render('![m](mailto:a@b.example)')), undefined);
});

t.test('raw HTML is shown as text', async (t) => {
  const shown = [
    '<b>bold</b>',
    '<kbd>a <img src="x"> b</kbd>',
    '<kbd><img src="https://a.example/x.png" </kbd>',
    '<!-- a -->',
    '<script>alert(1)</script>',
  ];
  for (const html of shown) t.equal(plainText(render(html)), html);
  t.equal(plainText(render('<div>\n**a**\n</div>')), '<div>\n**a**\n</div>');
});

t.test('a link that may not be one keeps its text', async (t) => {
  t.equal(render('[text](javascript:alert(1))'), '<p><a>text</a></p>');
  t.equal(render('![alt](javascript:alert(1))'), '<p><img alt="alt" /></p>');
});

t.test('what would grow or nest without end is shown as its text', async (t) => {
  for (const name of ['wideTable', 'longAddress', 'deepQuotes', 'deepLists', 'manyFootnotes']) {
    const note = bytes(HOSTILE_NOTES[name]!);
    t.ok(shownNote(note, base).html === asText(note), name);
  }
  const manyRelative = bytes('[](a) '.repeat(16_000));
  t.ok(shownNote(manyRelative, base).html === asText(manyRelative), 'many relative links');
  const manyHeadings = '# a\n'.repeat(16_000);
  const manyCells = `${'|-:'.repeat(100)}|\n`.repeat(2) + '|\n'.repeat(10_000);
  for (const text of [manyHeadings, manyCells])
    t.ok(shownNote(bytes(text), base).html === asText(bytes(text)), text.slice(0, 5));
  t.match(render(`${'>'.repeat(50)}a`), '<blockquote>');
});

t.test('a long table and many links are what they are', async (t) => {
  t.match(render(`|a|b|c|d|\n|-|-|-|-|\n${'|1|2|3|4|\n'.repeat(5000)}`), '<td>4</td>');
  t.match(render(`[a](https://a.example/${'b'.repeat(90)})\n`.repeat(1000)), '<a href=');
  t.match(render('![a](20260101T000000Z-a.png)\n'.repeat(500)), `src="${base}`);
  t.match(render('# a\n\nb\n\n'.repeat(3000)), '<h1>');
  t.match(
    render(`${'|a'.repeat(6)}|\n${'|-:'.repeat(6)}|\n${`${'|12'.repeat(6)}|\n`.repeat(2000)}\n# End`),
    '<h1>End',
  );
});

t.test('small notes stay small', async (t) => {
  const table = `|${'a|'.repeat(300)}\n|${'-|'.repeat(300)}\n${'|x\n'.repeat(300)}`;
  const links = `[a]: https://a.example/${'b'.repeat(1000)}\n\n${'[a]'.repeat(300)}`;
  for (const note of [table, links]) t.ok(render(note).length < 100_000);
});

t.test('hostile notes leave nothing but what is allowed', async (t) => {
  for (const [name, note] of Object.entries(HOSTILE_NOTES)) {
    t.same(violations(render(note)), [], name);
    t.same(pageViolations(inPage(bytes(note))), [], `${name}, in a page`);
    t.same(violations(asText(bytes(note))), [], `${name}, not rendered`);
  }
});

t.test('so does any text, and a sanitizer finds nothing to change', async () => {
  fc.assert(
    fc.property(fc.oneof(hostileText(), markdownTexts), (text) => {
      const html = shownNote(bytes(text), base).html;
      const wrong = [...violations(html.trim()), ...pageViolations(inPage(bytes(text)))];
      if (wrong.length > 0) throw new Error(wrong.join('\n'));
      const clean = sanitized(html);
      if (clean !== html) throw new Error(`${html}\nsanitized is\n${clean}`);
    }),
    { numRuns: 800 },
  );
});

t.test('and any bytes', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (markdown) => {
      return (
        violations(shownNote(markdown, base).html.trim()).length + pageViolations(inPage(markdown)).length ===
        0
      );
    }),
    { numRuns: 500 },
  );
});

t.test('character references are what they stand for, in code they are text', async (t) => {
  t.equal(
    render('&copy; &#65; &#x1F600; &lt;b&gt; &unknown; &amp;amp;'),
    '<p>© A 😀 &lt;b&gt; &amp;unknown; &amp;amp;</p>',
  );
  t.equal(render('`&copy;` \\&copy;'), '<p><code>&amp;copy;</code> &amp;copy;</p>');
  t.equal(render('[a](x&period;y "&quot;")'), `<p><a href="${base}x.y" title="&quot;">a</a></p>`);
  t.equal(
    render('![*a* & &copy; `&copy;`](/b)'),
    '<p><img src="https://notes.example/b" alt="a &amp; © &amp;copy;" /></p>',
  );
});

t.test('the excerpt is the text without marks on one line', async (t) => {
  const cases: Record<string, string> = {
    '# A *title*\n\n- one\n- [two](x "t")\n\n> three\\\nfour': 'A title one two three four',
    'a ![cat](x.png) b': 'a cat b',
    '|a|b|\n|-|-|\n|1|2|': 'a b 1 2',
    '```\nlet x;\n```': 'let x;',
    '<script>alert(1)</script>': '<script>alert(1)</script>',
    '&lt;b&gt; \\* &copy;': '<b> * ©',
    'a\0b\ufffe': 'ab',
  };
  for (const [markdown, excerpt] of Object.entries(cases)) t.equal(rendered(markdown).excerpt, excerpt);
  t.equal(rendered('word '.repeat(200)).excerpt, `${'word '.repeat(99)}word…`);
  t.equal(rendered('x'.repeat(600)).excerpt, `${'x'.repeat(499)}…`);
  t.match(shownNote(bytes(HOSTILE_NOTES.deepQuotes!), base).excerpt, /^>+a$/, 'not rendered');
});

t.test('a note that is not rendered shows all its text', async (t) => {
  t.equal(asText(bytes('a <b> & "c"\n\0')), '<pre>a &lt;b&gt; &amp; &quot;c&quot;\n</pre>');
});
