import t from 'tap';
import { shownNote } from '../support/rendered.ts';

const FOLDER = 'https://notes.example/r/abc/';
const inFeed = (markdown: string) => shownNote(markdown, FOLDER).html;
const inPage = (markdown: string, id = 'n') =>
  shownNote(markdown, FOLDER, { level: 2, sizes: new Map(), id }).html;
/** The texts of the footnotes, in their order. */
const texts = (markdown: string) =>
  [
    ...inFeed(markdown)
      .replace(/^.*?<hr \/>/s, '')
      .matchAll(/<li>(.*?)<\/li>/gs),
  ].map(([, text]) => text!.replaceAll(/<\/?p>|\n$/g, ''));

t.test('references and texts are linked in a page', async (t) => {
  t.equal(
    inPage('a[^x] b[^x]\n\n[^x]: *one*', 'id'),
    '<p>a<sup><a id="ref-id-1-1" href="#fn-id-1" role="doc-noteref">1</a></sup> ' +
      'b<sup><a id="ref-id-1-2" href="#fn-id-1" role="doc-noteref">1</a></sup></p>\n' +
      '<section class="footnotes" role="doc-endnotes" aria-label="Footnotes">\n<ol>\n' +
      '<li id="fn-id-1"><p><em>one</em> <a href="#ref-id-1-1" role="doc-backlink" aria-label="Back to reference 1">↩</a> ' +
      '<a href="#ref-id-1-2" role="doc-backlink" aria-label="Back to reference 1-2">↩</a></p></li>\n</ol>\n</section>\n',
  );
  t.match(inPage('a[^x]\n\n[^x]: b', 'é "'), 'id="fn-é &quot;-1"');
  t.match(inPage('a[^x]\n\n[^x]: b', 'é "'), 'href="#fn-%C3%A9%20%22-1"');
  t.match(inPage('a[^x]\n\n[^x]:\n    - b'), /<\/ul>\n <a href="#ref-n-1-1"[^>]*>↩<\/a><\/li>/);
});

t.test('feeds have the numbers and the texts', async (t) => {
  t.equal(
    inFeed('a[^x] b[^y]\n\n[^y]: two\n[^x]: one'),
    '<p>a<sup>1</sup> b<sup>2</sup></p>\n<hr />\n<ol>\n<li><p>one</p></li>\n<li><p>two</p></li>\n</ol>\n',
  );
});

t.test('what belongs to a footnote', async (t) => {
  const cases: Record<string, string[]> = {
    'a[^1]\n[^1]: one\nmore\n\nother': ['one\nmore'],
    'a[^1]\n\n[^1]: one\n\n    two\n\n\tthree\n\nother': ['one\ntwo\nthree'],
    '[^1]: one\n[^2]: two\n\na[^2][^1]': ['two', 'one'],
    'a[^1]\n\n[^1]: one\n# other': ['one'],
    'a[^1]\n\n[^1]: one\n- other': ['one'],
    'a[^1]\n\n[^1]: one\n[^1]: two': ['one'],
    'a[^ÄB]\n\n   [^äb]: one': ['one'],
    '- a[^1]\n[^1]: one': ['one'],
    '> a[^1]\n>\n> [^1]: one': ['one'],
    'a[^1]\n\n[^1]: one[^2]\n[^2]: two[^1]': ['one<sup>2</sup>', 'two<sup>1</sup>'],
    'a[^1]\n\n[^1]: one [^1]': ['one <sup>1</sup>'],
    'a[^1]\n\n[^1]: https://a.example/': ['<a href="https://a.example/">https://a.example/</a>'],
    'a[^1][^2]\n\n[^1]: one\n\n    [^2]: two': ['one\n[^2]: two'],
    'a[^1]\n\n[^1]:': [''],
    '|a[^1]|\n|-|\n|b|\n\n[^1]: one': ['one'],
    '[a[^1]](https://a.example/)\n\n[^1]: one': ['one'],
  };
  for (const [markdown, expected] of Object.entries(cases)) t.same(texts(markdown), expected, markdown);
});

t.test('text that is no footnote', async (t) => {
  const cases: Record<string, string> = {
    'a[^1]': '<p>a[^1]</p>\n',
    '[^1]: one': '',
    'a\n\n[^1]: one ![](b.png)': '<p>a</p>\n',
    '[^1](https://a.example/)\n\n[^1]: b': '<p><a href="https://a.example/">^1</a></p>\n',
    '`[^1]` \\[^1]\n\n[^1]: b': '<p><code>[^1]</code> [^1]</p>\n',
    '[^a b]\n\n[^a b]: c d': '<p>[^a b]</p>\n<p>[^a b]: c d</p>\n',
    '    [^1]: b\n\na[^1]': '<pre><code>[^1]: b\n</code></pre>\n<p>a[^1]</p>\n',
  };
  for (const [markdown, html] of Object.entries(cases)) t.equal(inFeed(markdown), html, markdown);
});

t.test('notes do not share footnotes', async (t) => {
  inFeed('a[^1]\n\n[^1]: one');
  t.equal(inFeed('a[^1]'), '<p>a[^1]</p>\n');
});

t.test('a picture in a footnote becomes absolute where the text is handed out', async (t) => {
  const markdown = 'a[^1]\n\n[^1]: one\n\n    ![x](20260101T000000Z-a.png)\n\n![y](20260101T000000Z-b.png)';
  t.equal(shownNote(markdown, FOLDER).text, markdown.replaceAll('](', `](${FOLDER}`));
});

t.test('titles and excerpts do not show them', async (t) => {
  const markdown = '# A title[^1]\n\nText[^1], more.\n\n[^1]: hidden';
  t.equal(shownNote(markdown, FOLDER).excerpt, 'A title Text, more.');
});
