/** What readers see of the text of a note: code, tables, footnotes, directions and pictures, as users of Chromium. */
import t from 'tap';
import { axeFindings, overflow, PHONE, settled, startBrowser, visit } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const browser = await startBrowser(t);
const { url } = await start(t);

/** Every name of a language that `code.ts` knows. */
const LANGUAGES = [
  ...[
    'bash',
    'sh',
    'zsh',
    'shell',
    'console',
    'c',
    'h',
    'cpp',
    'c++',
    'cc',
    'hpp',
    'csharp',
    'cs',
    'c#',
    'css',
  ],
  ...[
    'diff',
    'patch',
    'dockerfile',
    'docker',
    'go',
    'golang',
    'html',
    'ini',
    'toml',
    'java',
    'javascript',
    'js',
  ],
  ...[
    'jsx',
    'mjs',
    'cjs',
    'json',
    'jsonc',
    'kotlin',
    'kt',
    'markdown',
    'md',
    'php',
    'python',
    'py',
    'ruby',
    'rb',
  ],
  ...['rust', 'rs', 'sql', 'svg', 'swift', 'typescript', 'ts', 'tsx', 'mts', 'cts', 'xml', 'yaml', 'yml'],
];
/** Has something to colour in each of them. */
const SAMPLE =
  '+ new\n# Title\n$ echo "x"\nFROM x\na { color: red }\n<b a="c">\nif true return "text" 12\nkey: "y"';
const WIDE = `| a |${' b |'.repeat(30)}\n|-|${'-|'.repeat(30)}\n|  |${'  |'.repeat(30)}`;
const TEXT = [
  '# One\n\n## Two\n\n### Three\n\n#### Four\n\nText[^1] with a [link](https://a.example/) and `code`.[^1]\n\n> Quote\n\n- [ ] open',
  `${WIDE}\n\n| left | right |\n|:-|-:|\n| 1 | 2 |\n\n\`\`\`ts\nconst long = "${'x'.repeat(200)}"; // comment\n\`\`\``,
  'Left\n\n> ימין\n\n- one\n- אחת\n\n[^1]: A *footnote*.',
].join('\n\n');

/** The public page of a feed with these texts, the last one first. */
async function pageOf(feed: string, ...texts: string[]): Promise<string> {
  for (const text of texts) await post(`${url}/${feed}`, text);
  return (await ask(`${url}/api/v1/feeds/${feed}`)).json.read_url.replace('/feed.xml', '');
}

/** The parts of code in the page that have colours, by the class of their code. */
const COLOURED = `[...CSS.highlights].flatMap(([kind, ranges]) => [...ranges].map(
  ({startContainer: text, startOffset, endOffset}) =>
    [text.parentElement.className, kind, text.data.slice(startOffset, endOffset)].join(' ')))`;

t.test('code is coloured, and no element changes for it', async (t) => {
  const { page, ...faults } = await visit(t, browser);
  const address = await pageOf('coloured', ['ts', 'diff', 'unknown'].map(fenced).join('\n\n'));
  await page.goto(address);
  const coloured = () => page.evaluate<string[]>(COLOURED);
  await eventually(async () => (await coloured()).length > 5);
  const parts = await coloured();
  for (const part of [
    'language-ts code-string "text"',
    'language-ts code-value 12',
    'language-diff code-string + new',
  ])
    t.ok(parts.includes(part), part);
  t.notOk(parts.some((part) => part.startsWith('language-unknown')));
  t.ok(
    await page.evaluate(`fetch(location.href).then((answer) => answer.text()).then((text) =>
      new DOMParser().parseFromString(text, 'text/html').querySelector('.text').isEqualNode(document.querySelector('.text')))`),
  );
  await page.evaluate(
    "document.querySelector('code').textContent = ''; document.querySelector('pre').remove()",
  );
  await page.evaluate(
    "document.querySelector('.text').append(document.querySelector('pre').cloneNode(true))",
  );
  await eventually(async () => (await coloured()).filter((part) => part.includes('+ new')).length === 2);
  t.notOk(
    (await coloured()).some((part) => part.startsWith('language-ts')),
    'what is gone has no colours',
  );
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

function fenced(language: string): string {
  return `\`\`\`${language}\n${SAMPLE}\n\`\`\``;
}

t.test('every language has colours', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(await pageOf('languages', LANGUAGES.map(fenced).join('\n\n')));
  const missing = async () => {
    const parts = await page.evaluate<string[]>(COLOURED);
    return LANGUAGES.filter((language) => !parts.some((part) => part.startsWith(`language-${language} `)));
  };
  await eventually(async () => (await missing()).length === 0);
  t.same(await missing(), []);
});

t.test('only a page with code loads what colours it', async (t) => {
  const { page } = await visit(t, browser);
  const loaded: string[] = [];
  page.on('request', (request) => loaded.push(request.url()));
  await page.goto(await pageOf('uncoloured', '`code` and\n\n```\nplain\n```\n\n```unknown\nplain\n```'), {
    waitUntil: 'networkidle',
  });
  t.ok(loaded.some((one) => /\/read-\w+\.js/.test(one)));
  t.notOk(
    loaded.some((one) => /languages|picture-dialog/.test(one)),
    loaded.join(' '),
  );
});

t.test('a picture opens in full, by keyboard alone', async (t) => {
  const { page, ...faults } = await visit(t, browser);
  const posted = (alt: string) =>
    post(`${url}/pictures`, PIXEL, { 'content-type': 'image/png', 'x-note-alt': alt });
  const files = [(await posted('one')).json.file, (await posted('two')).json.file];
  await page.goto(await pageOf('pictures', `![One](${files[0]}) and ![](${files[1]})`));
  const caption = () => page.textContent('.lightbox p');
  const focused = () => page.evaluate('document.activeElement.getAttribute("href")?.split("/").at(-1)');
  await page.focus('a.picture');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.lightbox[open]');
  t.equal(await caption(), 'One (1 of 2)');
  t.same(await axeFindings(page), []);
  await page.keyboard.press('ArrowRight');
  t.equal(await caption(), 'Picture without a description (2 of 2)');
  await page.keyboard.press('ArrowRight');
  t.equal(await caption(), 'One (1 of 2)');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Escape');
  await page.waitForSelector('.lightbox', { state: 'hidden' });
  t.ok(
    await eventually(async () => (await focused()) === files[1]),
    'the focus is on the picture that was shown',
  );
  await page.keyboard.press('Enter');
  await page.waitForSelector('.lightbox[open]');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.lightbox', { state: 'hidden' });
  t.same(faults, { violations: [], errors: [], dialogs: [] });
});

t.test('a picture that came later opens too, and a large one in full size', async (t) => {
  const { page } = await visit(t, browser);
  await post(`${url}/later`, PIXEL, { 'content-type': 'image/png', 'x-note-alt': 'the only one' });
  await page.goto(await pageOf('later'));
  await page.evaluate(`(() => {
    const later = document.querySelector('.text').cloneNode(true);
    const picture = Object.assign(document.createElement('canvas'), {width: 3000, height: 2000}).toDataURL();
    later.querySelector('img').replaceWith(Object.assign(document.createElement('img'), {src: picture, alt: 'the only one'}));
    later.id = 'later';
    document.querySelector('.text').replaceWith(later);
  })()`);
  await page.click('#later a.picture');
  await page.waitForSelector('.lightbox[open]');
  t.equal(await page.textContent('.lightbox p'), 'the only one');
  t.equal(await page.isVisible('.lightbox .next'), false, 'there is no other');
  const width = () => page.evaluate<number>("document.querySelector('.lightbox img').clientWidth");
  t.ok(await eventually(async () => (await width()) > 500 && (await width()) < 1280));
  await page.click('.lightbox .zoom');
  t.equal(await width(), 3000);
  await page.keyboard.press('ArrowRight');
  t.ok(
    await eventually(() => page.evaluate("document.querySelector('.stage').scrollLeft > 0")),
    'arrows scroll',
  );
  await page.click('.lightbox img');
  t.ok((await width()) < 1280);
});

t.test('without JavaScript a picture is a link to its file', async (t) => {
  const { page } = await visit(t, browser, { javaScriptEnabled: false });
  await post(`${url}/plain-picture`, PIXEL, { 'content-type': 'image/png' });
  await page.goto(await pageOf('plain-picture'));
  await page.click('a.picture');
  await page.waitForURL(/\.png$/);
});

t.test('a wide table scrolls by itself, and its shade says that there is more', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(await pageOf('table', `${WIDE}\n\n| a | b |\n|-|-|\n| | |`));
  t.equal(await overflow(page), 0);
  const box = page.locator('.wide').first();
  const edges = async () => {
    const { x, y, width, height } = (await box.boundingBox())!;
    const strip = (left: number) =>
      page
        .screenshot({ clip: { x: left, y: y + height - 20, width: 4, height: 4 } })
        .then((png) => png.toString('hex'));
    return [await strip(x), await strip(x + width - 4)];
  };
  const [plain, shaded] = await edges();
  t.not(plain, shaded);
  await page.evaluate("document.querySelector('.wide').scrollTo(9999, 0)");
  await settled(page);
  const [left, right] = await edges();
  t.not(left, plain, 'there is more at the left now');
  t.equal(right, plain, 'and nothing at the right');
});

t.test('what is written in the other direction begins at the other side', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(
    await pageOf('directions', 'Left\n\n> ימין\n\n- one\n- אחת\n', 'ימין\n\n> Left\n\n- אחת\n- one\n'),
  );
  const sides = (selector: string) =>
    page.evaluate(`[...document.querySelectorAll('${selector}')].map((element) => {
      const { direction, borderLeftWidth: line } = getComputedStyle(element);
      const around = element.parentElement.getBoundingClientRect();
      const { left, right } = element.getBoundingClientRect();
      return { direction, line, isLeft: left - around.left < around.right - right };
    })`);
  t.match(await sides('blockquote'), [
    { direction: 'ltr', line: /[1-9]/ },
    { direction: 'rtl', line: '0px' },
  ]);
  t.match(await sides('li'), [
    { direction: 'rtl', isLeft: false },
    { direction: 'ltr', isLeft: true },
    { direction: 'ltr', isLeft: true },
    { direction: 'rtl', isLeft: false },
  ]);
});

t.test('footnotes of notes with the same text lead to their own', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(await pageOf('footnotes', ...Array(2).fill('Text[^1]\n\n[^1]: Footnote')));
  t.equal(
    await page.evaluate(
      "new Set([...document.querySelectorAll('[id]')].map(({id}) => id)).size === document.querySelectorAll('[id]').length",
    ),
    true,
  );
  for (const n of [0, 1]) {
    const article = page.locator('article').nth(n);
    await article.locator('[role=doc-noteref]').click();
    t.equal(await article.locator('li:target').count(), 1);
    await article.locator('[role=doc-backlink]').click();
    t.equal(await article.locator('[role=doc-noteref]:target').count(), 1);
  }
});

t.test(
  'axe-core finds nothing, contrast of 7 to 1 included, and nothing is wider than the screen',
  async (t) => {
    const address = await pageOf('all', TEXT);
    for (const options of [{}, { colorScheme: 'dark' }, PHONE] as const) {
      const { page } = await visit(t, browser, options);
      await page.goto(address);
      // What `::highlight` colours is nothing that axe-core sees.
      await page.evaluate(`(() => {
      const code = document.body.appendChild(document.createElement('p'));
      code.style.background = 'var(--sunk)';
      for (const name of ['accent', 'faint', 'string', 'value', 'danger'])
        Object.assign(code.appendChild(document.createElement('span')), {textContent: name}).style.color = 'var(--' + name + ')';
      document.querySelector('main').append(code);
    })()`);
      t.same(await axeFindings(page), []);
      const enhanced =
        "axe.run({runOnly: ['color-contrast-enhanced']}).then(({violations}) => violations.flatMap(({nodes}) => nodes.map(({html}) => html)))";
      t.same(await page.evaluate(enhanced), []);
      t.equal(await overflow(page), 0);
    }
  },
);

t.test('paper shows the notes alone, with the addresses of links', async (t) => {
  const { page } = await visit(t, browser);
  await page.goto(await pageOf('printed', '[a link](https://a.example/)\n\n- one', 'An older note'));
  await page.emulateMedia({ media: 'print' });
  for (const selector of ['.top', '.bottom', 'nav', '.skip'])
    t.equal(await page.locator(`${selector}:visible`).count(), 0, selector);
  const content = "getComputedStyle(document.querySelector('.text a'), '::after').content";
  t.match(await page.evaluate(content), 'https://a.example/');
});
