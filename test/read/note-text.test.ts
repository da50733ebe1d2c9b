import t from 'tap';
import type { Page } from '../../src/read/note-text.ts';
import { HOSTILE_NOTES } from '../support/hostile-notes.ts';
import { shownNote } from '../support/rendered.ts';
import { BASE, READ_ID } from '../support/view-notes.ts';

const FOLDER = `${BASE}/r/${READ_ID}/`;
const NONE = new Map<string, never>();

function shown(markdown: string, level = 2, sizes: Page['sizes'] = NONE): string {
  return shownNote(markdown, FOLDER, { level, sizes }).html;
}

t.test('headings are below those of the page, and leave no level out', async (t) => {
  const levels = (markdown: string, level?: number) =>
    [...shown(markdown, level).matchAll(/<h(\d)>.*<\/h(\d)>/g)].map(([, begin, end]) => begin! + end!);
  t.same(levels('# a\n\n#### b\n\n##### c\n\n#### d\n\n# e'), ['33', '44', '55', '44', '33']);
  t.same(levels('### a\n\n# b\n\n## c'), ['33', '33', '44']);
  t.same(levels('# a\n\n## b\n\n### c\n\n#### d\n\n##### e'), ['33', '44', '55', '66', '66']);
  t.same(levels('# a', 0), ['11']);
});

t.test('links, code, tables and task lists', async (t) => {
  t.equal(
    shown('[a](https://a.example/ "t")'),
    '<p><a rel="noreferrer noopener nofollow" href="https://a.example/" title="t">a</a></p>\n',
  );
  t.match(shown('```\n<table>\n```'), '<pre tabindex="0"><code>&lt;table&gt;\n</code></pre>');
  t.match(
    shown('|a|\n|-|\n|b|'),
    /^<div class="wide" role="group" aria-label="Table" tabindex="0"><table>.*<\/table><\/div>\n$/s,
  );
  t.match(shown('- [ ] a\n- b\n\n- [x] c'), /<li class="task">.*<li>.*<li class="task">/s);
});

t.test('a table keeps the alignment of its columns', async (t) => {
  const table = '|a|b|c|d|\n|:-|:-:|-:|-|\n|1|2|3|4|';
  t.match(
    shown(table),
    '<th class="left">a</th>\n<th class="center">b</th>\n<th class="right">c</th>\n<th>d</th>',
  );
  t.match(
    shown(table),
    '<td class="left">1</td>\n<td class="center">2</td>\n<td class="right">3</td>\n<td>4</td>',
  );
});

t.test('a picture links to its file, and has its place where its size is known', async (t) => {
  const sizes = new Map([[`${FOLDER}a.png`, { width: 3, height: 2 }]]);
  const late = 'loading="lazy" decoding="async" referrerpolicy="no-referrer"';
  t.equal(
    shown('![x](a.png) ![y](https://b.example/b.png)', 2, sizes),
    `<p><a class="picture" href="${FOLDER}a.png"><img src="${FOLDER}a.png" width="3" height="2" ${late} alt="x" /></a> ` +
      `<a class="picture" rel="noreferrer noopener nofollow" href="https://b.example/b.png">` +
      `<img src="https://b.example/b.png" ${late} alt="y" /></a></p>\n`,
  );
  t.match(shown('[a ![x](a.png)](https://a.example/)'), /^<p><a rel[^>]*>a <img[^>]*><\/a><\/p>\n$/);
  t.match(shown('![x](data:,)'), /^<p><img [^>]*><\/p>\n$/, 'one that must not be loaded');
});

t.test('a picture without alternative text says so in pages', async (t) => {
  for (const markdown of ['![](a.png)', '![ ](a.png "t")'])
    t.match(shown(markdown), ' alt="Picture without a description"', markdown);
  t.notMatch(shownNote('![](a.png)', FOLDER).html, 'alt');
});

t.test('a block that is written in the other direction says so in pages', async (t) => {
  const cases: Record<string, string> = {
    'one\n\n> עברית *one*\n\ntwo':
      '<p>one</p>\n<blockquote dir="rtl">\n<p>עברית <em>one</em></p>\n</blockquote>\n<p>two</p>\n',
    'עברית\n\n> **one** עברית\n\n123':
      '<p>עברית</p>\n<blockquote dir="ltr">\n<p><strong>one</strong> עברית</p>\n</blockquote>\n<p>123</p>\n',
    '- 1\n- אחת\n- one\n\none':
      '<ul>\n<li>1</li>\n<li>אחת</li>\n<li dir="ltr">one</li>\n</ul>\n<p dir="ltr">one</p>\n',
    '# one\n\n1. אחת\n\n## מרחב':
      '<h3>one</h3>\n<ol dir="rtl">\n<li>אחת</li>\n</ol>\n<h4 dir="rtl">מרחב</h4>\n',
    'one\n\n|א|b|\n|-|-|':
      '<p>one</p>\n<div class="wide" role="group" aria-label="Table" tabindex="0" dir="rtl"><table>\n<thead>\n' +
      '<tr>\n<th>א</th>\n<th dir="ltr">b</th>\n</tr>\n</thead>\n</table></div>\n',
  };
  for (const [markdown, html] of Object.entries(cases)) {
    t.equal(shown(markdown), html, markdown);
    t.notMatch(shownNote(markdown, FOLDER).html, 'dir=', `${markdown}, in a feed`);
  }
  t.notMatch(shown('one\n\n> two'), 'dir=');
});

t.test('a note cannot write a mark for what depends on the view', async (t) => {
  const marks = ['\0<pre\0', '\0#1\0', '\0[javascript:a\0', '\0!\x01javascript:a\0', '\0~1 9999\0'];
  for (const mark of marks)
    for (const around of ['$', '`$`', '![$]($ "$")', '[$](<$>)', '```$\n$\n```', '[^$]\n\n[^$]: $']) {
      const written = around.replaceAll('$', () => mark);
      t.equal(shown(written), shown(written.replaceAll(/[\0\x01]/g, '')), JSON.stringify(written));
    }
});

t.test('nothing else is changed', async (t) => {
  const own =
    / (?:rel="noreferrer noopener nofollow"|loading="lazy" decoding="async" referrerpolicy="no-referrer"|tabindex="0"|class="task"|dir="..."|alt="Picture without a description")/g;
  for (const [name, markdown] of Object.entries(HOSTILE_NOTES)) {
    if (name.startsWith('footnote')) continue;
    const { html } = shownNote(markdown, FOLDER);
    const back = shown(markdown)
      .replaceAll(/<div class="wide" role="group" aria-label="Table" tabindex="0"><table>/g, '<table>')
      .replaceAll('</table></div>', '</table>')
      .replaceAll(/<a class="picture"[^>]*>(<img [^>]*>)<\/a>/g, '$1')
      .replaceAll(own, '');
    const plain = (text: string) => text.replaceAll(/<(\/?)h\d>/g, '<$1h>');
    t.equal(plain(back), plain(html), name);
  }
});
