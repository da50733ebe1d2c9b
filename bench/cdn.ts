/**
 * How soon readers behind Varnish (deploy/varnish.vcl) have a post: ms from its 201 until every one of many readers, who poll
 * RSS, JSON Feed and the page all the time, has got the note; and what share of their requests reached the service.
 *
 * `node bench/cdn.ts --readers 30 --posts 50`: readers, and posts one after the other. Needs varnishd with xkey.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../test/support/free-port.ts';
import { startVarnish } from '../test/support/varnish.ts';
import { ServerProcess } from './server-process.ts';
import { spread } from './statistics.ts';
import { row } from './table.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Between two requests of a reader, and between two posts, ms. */
const READER_PAUSE = 10;
const POST_PAUSE = 200;
const TOKEN = 'a token of the bench';

const { values: options } = parseArgs({
  options: { readers: { type: 'string', default: '30' }, posts: { type: 'string', default: '50' } },
});
const [readers, posts] = [Number(options.readers), Number(options.posts)];

const endings: (() => unknown)[] = [];
try {
  const port = await freePort();
  const { url, purgeUrl } = await startVarnish({ teardown: (end) => endings.unshift(end) }, port);
  const service = await ServerProcess.startService(temporaryFolder('cdn'), {
    PORT: `${port}`,
    PUBLIC_URL: url,
    SERVICE_TRUST_PROXY: '1',
    SERVICE_PURGE_URL: purgeUrl,
    SERVICE_METRICS: '1',
    SERVICE_METRICS_TOKEN: TOKEN,
    SERVICE_LOG_REQUESTS: '0',
  });
  endings.unshift(() => service.stop());
  while (!(await fetch(`${url}/health`)).ok) await wait(100);
  await measure(url, service.url);
} finally {
  for (const end of endings) await end();
}

async function measure(url: string, direct: string): Promise<void> {
  const rss = await post(url, 0);
  const paths = [rss, rss.replace('.xml', '.json'), rss.replace('/feed.xml', '')];
  const seen = Array.from({ length: readers }, () => 0);
  const work = { isOver: false, asked: 0 };
  const read = async (reader: number) => {
    while (!work.isOver) {
      const text = await (await fetch(paths[reader % paths.length]!)).text();
      work.asked += 1;
      for (const [, n] of text.matchAll(/note number (\d+)/g))
        seen[reader] = Math.max(seen[reader]!, Number(n));
      await wait(READER_PAUSE);
    }
  };
  const reached = await reads(direct);
  const reading = seen.map((_, reader) => read(reader));
  const delays: number[] = [];
  for (let n = 1; n <= posts + 1; n += 1) {
    await post(url, n);
    const postedAt = performance.now();
    while (seen.some((number) => number < n)) await wait(1);
    // The first views of all wait for threads that start.
    if (n > 1) delays.push(performance.now() - postedAt);
    await wait(POST_PAUSE);
  }
  work.isOver = true;
  await Promise.all(reading);
  const share = ((await reads(direct)) - reached) / work.asked;
  row(`${readers} readers, all have it`, [`  ${spread(delays)}`]);
  row('requests that reached the service', [`${(share * 100).toFixed(1)} %`]);
}

/** Posts a note; the address of the feed's RSS. */
async function post(url: string, n: number): Promise<string> {
  const headers = { 'content-type': 'text/markdown' };
  const reply = await fetch(`${url}/bench-cdn`, { method: 'POST', body: `note number ${n}`, headers });
  return ((await reply.json()) as { read_url: string }).read_url;
}

/** How many reads by read id the service has answered. */
async function reads(direct: string): Promise<number> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const text = await (await fetch(`${direct}/metrics`, { headers })).text();
  const counts = text.matchAll(
    /_duration_seconds_count\{operation="(?:rss|jsonFeed|readPage)"[^}]*\} (\d+)/g,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
