/** Pages with notes in a real browser: hostile ones run nothing and break nothing, and axe-core finds nothing. */
import t from 'tap';
import {
  axeFindings,
  overflow,
  PHONE,
  settled,
  startBrowser,
  type Visit,
  type VisitOptions,
  visit,
} from '../support/browser.ts';
import { HOSTILE_NOTES } from '../support/hostile-notes.ts';
import { missing } from '../support/installed.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, post, start, type TestService } from '../support/service.ts';

const SKIP = { skip: missing('chromium') };
const EVIL = `"><img src=x onerror=alert(1)><script>alert(1)</script>'javascript:alert(1)`;
const NAME = 'hostile-notes-x7k2p4m9';

const GOOD = [
  '# Heading\n\n### Deeper\n\nSome *text* with `code` and a [link](https://a.example/).\n\n- [x] done\n- [ ] open',
  `| ${'wide cell | '.repeat(20)}\n|${'-|'.repeat(20)}\n| ${'a cell with words | '.repeat(20)}`,
  `\`\`\`\nconst long = '${'x'.repeat(300)}';\n\`\`\`\n\n> A quote\n\n1. one\n2. two\n\n---\n\nEnd.`,
];

/** A feed with the notes, its address and the one for readers. */
async function feedOf(service: TestService, name: string, notes: readonly string[]) {
  const feed = `${service.url}/${name}`;
  for (const [n, text] of notes.entries())
    await post(feed, text, {
      'x-note-title': n % 2 ? encodeURI(`Title ${n} ${'x'.repeat(80)}`) : '',
      'x-note-tags': 'one,two',
    });
  const file = { 'content-type': 'image/png', 'x-note-alt': EVIL, 'x-note-name': `${EVIL}.png` };
  const picture = (await post(feed, PIXEL, { ...file, 'x-note-title': EVIL.slice(0, 100) })).json;
  await ask(`${service.url}/api/v1/feeds/${name}`, {
    method: 'PUT',
    body: JSON.stringify({
      title: `A ${'v'.repeat(80)}${EVIL.slice(0, 15)}`,
      description: EVIL,
      image: picture.file,
    }),
    headers: { 'content-type': 'application/json' },
  });
  const { read_url } = (await ask(`${service.url}/api/v1/feeds/${name}`)).json;
  return { feed, read: read_url.replace('/feed.xml', '') as string, id: picture.id as string };
}

t.test('in a browser', SKIP, async (t) => {
  const service = await start(t, {
    SERVICE_REPORT_URL: 'https://report.example/{read_id}',
    SERVICE_TITLE: 'Notes & <others>',
  });
  const browser = await startBrowser(t);
  const hostile = await feedOf(
    service,
    NAME,
    Object.values(HOSTILE_NOTES).filter((text) => text !== ''),
  );
  const good = await feedOf(service, 'good-notes-x7k2p4m9', GOOD);

  /** Opens a page, with no way out to other servers. */
  const open = async (path: string, options?: VisitOptions): Promise<Visit & { referers: string[] }> => {
    const opened = await visit(t, browser, options);
    const referers: string[] = [];
    await opened.page.route('**', (route) => {
      if (route.request().url().startsWith(service.url)) return route.continue();
      referers.push(route.request().headers().referer ?? '');
      return route.abort();
    });
    await opened.page.goto(path);
    await settled(opened.page);
    return { ...opened, referers };
  };

  t.test('hostile notes run nothing and break no layout', async (t) => {
    const { notes } = (await ask(`${service.url}/api/v1/feeds/${NAME}/notes`)).json;
    const pages = [
      hostile.feed,
      hostile.read,
      `${hostile.read}/${hostile.id}`,
      `${hostile.feed}/${hostile.id}`,
    ];
    const wide = notes.find(({ content = '' }: { content?: string }) => content.startsWith('|a|'));
    for (const path of [...pages, `${hostile.read}/${wide.id}`])
      for (const options of [{}, PHONE]) {
        const { page, violations, errors, dialogs, referers } = await open(path, options);
        t.same({ violations, errors, dialogs }, { violations: [], errors: [], dialogs: [] }, path);
        t.equal(await overflow(page), 0, `${path} is as wide as the screen`);
        t.equal(
          await page.evaluate('document.querySelectorAll(\'script:not([src*="/static/"])\').length'),
          0,
        );
        t.ok(
          referers.every((referer) => !referer.includes(NAME)),
          'no Referer to elsewhere holds the name',
        );
      }
  });

  t.test('what the policy keeps from happening is reported', async (t) => {
    const { page, violations } = await open(good.read);
    await page.evaluate("document.body.setAttribute('style', 'color: red')");
    await settled(page);
    t.match(violations, [/style-src-attr/]);
  });

  t.test('nothing for axe-core to find', async (t) => {
    const dark = { colorScheme: 'dark', ...PHONE } as const;
    for (const [path, options] of [
      [good.feed],
      [good.read],
      [good.read, dark],
      [`${good.read}?tag=one`],
      [`${good.read}/${good.id}`, dark],
      [`${good.feed}/${good.id}`],
      [`${service.url}/no/such/page`],
      [`${service.url}/nobody-has-this`],
    ] as [string, VisitOptions?][]) {
      const { page } = await open(path, options);
      t.same(await axeFindings(page), [], path);
      t.equal(await overflow(page), 0);
    }
  });

  t.test('pictures have their place before they are loaded', async (t) => {
    const { page } = await visit(t, browser);
    // Never answered.
    await page.route('**/*.png', () => {});
    await page.goto(good.read, { waitUntil: 'domcontentloaded' });
    t.equal(await page.evaluate('document.querySelector(".text img").getBoundingClientRect().height'), 1);
  });

  t.test('a page can be installed, and asks for little before it shows something', async (t) => {
    const { page } = await visit(t, browser);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(good.read);
    // The script opens the stream of events when the page is shown already, before or after the load event.
    const blocking = asked.filter((url) => !/\.(png|ico|svg)$|manifest|\/events\?/.test(url));
    t.ok(blocking.length <= 3, blocking.join(' '));
    const session = await page.context().newCDPSession(page);
    const { errors, url } = await session.send('Page.getAppManifest');
    t.same(errors, []);
    t.match(url, /manifest/);
  });
});
