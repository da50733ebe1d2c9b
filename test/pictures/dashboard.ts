/**
 * Draws the panels of `deploy/grafana/dashboard.json`, because Debian has no Grafana: from the answers of a Prometheus to
 * their queries, while the service is under load.
 *
 *     node test/pictures/dashboard.ts <file.webp> [<seconds of load>]
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { startBrowser } from '../support/browser.ts';
import { EventStream } from '../support/event-stream.ts';
import { picture } from '../support/pictures.ts';
import { filledQuery, type Panel, Prometheus, readDashboard, type Series } from '../support/prometheus.ts';
import { ask, post, start, tempDir } from '../support/service.ts';
import { dashboardHtml, type Line } from './panels.ts';

const TOKEN = 'a-token-of-metrics';
const QUALITY = 70;
const READERS = 6;
const MAX_STREAMS = 12;
/** The first seconds have no rates yet. */
const LEAD_SECONDS = 10;

t.setTimeout(0);
const [file = 'dashboard.webp', seconds = '310'] = process.argv.slice(2);
const browser = await startBrowser(t);
const dir = await tempDir(t);
await writeFile(join(dir, '.backup-done'), '');
const { url } = await start(
  t,
  {
    SERVICE_METRICS: '1',
    SERVICE_METRICS_TOKEN: TOKEN,
    SERVICE_STORAGE: 'sqlite',
    SERVICE_SECRET: 'a secret of pictures that is long enough',
    SERVICE_IMAGES: 'fs',
  },
  dir,
);
const prometheus = await Prometheus.start(t, { url, token: TOKEN, interval: '1s' });
const startedAt = Date.now() / 1000;
await load(startedAt + Number(seconds));
const span = { start: startedAt + LEAD_SECONDS, end: Date.now() / 1000 };
const { panels } = await readDashboard();
const drawn = await Promise.all(panels.map(async (panel) => ({ panel, lines: await linesOf(panel) })));
const page = await browser.newPage({ viewport: { width: 1304, height: 1000 } });
await page.setContent(dashboardHtml(drawn, span));
const devTools = await page.context().newCDPSession(page);
const options = { format: 'webp', quality: QUALITY, captureBeyondViewport: true } as const;
const { data } = await devTools.send('Page.captureScreenshot', options);
await writeFile(file, data, 'base64');
t.pass('the picture is taken');
t.end();

async function linesOf({ targets }: Panel): Promise<Line[]> {
  const all = await Promise.all(
    targets.map(async ({ expr, legendFormat }) => {
      const answer = await prometheus.queryRange(filledQuery(expr, '10s'), span.start, span.end, 1);
      return answer.map((series) => ({ name: nameOf(series, legendFormat), series }));
    }),
  );
  return all.flat();
}

function nameOf({ metric }: Series, format: string): string {
  return format.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? '');
}

/** Readers and writers, more and fewer by turns, until that time (s since the epoch). */
async function load(until: number): Promise<void> {
  const { json } = await post(`${url}/otter-log`, picture('png', 200_000), { 'content-type': 'image/png' });
  await post(`${url}/locked`, 'x', { 'x-feed-password': 'open sesame' });
  const quiet = (await post(`${url}/quiet-log`, 'Nothing new here')).json.read_url;
  const validator = { 'if-none-match': (await ask(quiet)).headers.get('etag') ?? '' };
  /** From 0 to 1, and back each minute. */
  const tide = () => (1 - Math.cos(Date.now() / 9_550)) / 2;
  const repeat = async (pauseMs: () => number, work: (turn: number) => Promise<unknown>) => {
    for (let turn = 0; Date.now() / 1000 < until; turn++) {
      await work(turn);
      await wait(Math.min(pauseMs(), Math.max(0, until * 1000 - Date.now())));
    }
  };
  const reading = Array.from({ length: READERS }, () =>
    repeat(
      () => 20 + 80 * (1 - tide()),
      async (turn) => {
        await ask(json.read_url);
        await ask(quiet, { headers: validator });
        if (turn % 10 === 0) await ask(`${url}/r/nobody-reads-this/feed.xml?${turn}`);
        if (turn % 25 === 0) await ask(`${json.read_url.replace('feed.xml', 'feed.json')}`);
      },
    ),
  );
  await Promise.all([
    ...reading,
    repeat(
      () => 60 + 300 * (1 - tide()),
      (turn) =>
        Promise.all(
          Array.from({ length: 1 + (turn % 4) }, (_, n) =>
            post(`${url}/otter-log`, `Note ${turn}.${n} of the *otters*`),
          ),
        ),
    ),
    repeat(
      () => 700,
      () => post(`${url}/otter-log`, picture('png', 150_000), { 'content-type': 'image/png' }),
    ),
    repeat(
      () => 900,
      async () => {
        await ask(json.file_url);
        await ask(`${url}/locked`, { headers: { 'x-feed-password': 'wrong' } });
      },
    ),
    repeat(
      () => 20_000,
      async (turn) => {
        if (turn < MAX_STREAMS) await EventStream.open(t, `${url}/api/v1/feeds/otter-log/events`);
      },
    ),
  ]);
}
