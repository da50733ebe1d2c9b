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

t.test('a picture has its place where its size is known', async (t) => {
  const sizes = new Map([[`${FOLDER}a.png`, { width: 3, height: 2 }]]);
  t.equal(
    shown('![x](a.png) ![y](b.png)', 2, sizes),
    `<p><img src="${FOLDER}a.png" width="3" height="2" loading="lazy" decoding="async" referrerpolicy="no-referrer" alt="x" /> ` +
      `<img src="${FOLDER}b.png" loading="lazy" decoding="async" referrerpolicy="no-referrer" alt="y" /></p>\n`,
  );
});

t.test('nothing else is changed', async (t) => {
  const own =
    / (?:rel="noreferrer noopener nofollow"|loading="lazy" decoding="async" referrerpolicy="no-referrer"|tabindex="0"|class="task")/g;
  for (const [name, markdown] of Object.entries(HOSTILE_NOTES)) {
    const { html } = shownNote(markdown, FOLDER);
    const back = shown(markdown)
      .replaceAll(/<div class="wide" role="group" aria-label="Table" tabindex="0"><table>/g, '<table>')
      .replaceAll('</table></div>', '</table>')
      .replaceAll(own, '');
    const plain = (text: string) => text.replaceAll(/<(\/?)h\d>/g, '<$1h>');
    t.equal(plain(back), plain(html), name);
  }
});
