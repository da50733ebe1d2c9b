/**
 * Lighthouse on the page of a feed and on its read-only page, each with 50 notes, in Debian's Chromium: the medians of
 * its scores, and what keeps one from 100.
 *
 * `node bench/lighthouse.ts --runs 5`
 */
import { parseArgs } from 'node:util';
import { launch } from 'chrome-launcher';
import lighthouse from 'lighthouse';
import { seedFeed } from './seeded-feed.ts';
import { ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const CATEGORIES = ['accessibility', 'best-practices', 'performance'];

const { values: options } = parseArgs({ options: { runs: { type: 'string', default: '5' } } });

const service = await ServerProcess.startService(temporaryFolder('lighthouse'), {
  SERVICE_LOG_REQUESTS: '0',
});
const chrome = await launch({
  chromePath: '/usr/bin/chromium',
  chromeFlags: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
});
try {
  const feed = `${service.url}/bench-lighthouse`;
  const { readId } = await seedFeed(feed, 50);
  for (const [name, url] of [
    ['feed page', feed],
    ['read-only page', `${service.url}/r/${readId}`],
  ] as const)
    await examine(name, url);
} finally {
  chrome.kill();
  await service.stop();
}

async function examine(name: string, url: string): Promise<void> {
  const scores = new Map<string, number[]>(CATEGORIES.map((category) => [category, []]));
  const faults = new Set<string>();
  for (let run = 0; run < Number(options.runs); run += 1) {
    const result = await lighthouse(url, {
      port: chrome.port,
      onlyCategories: CATEGORIES,
      logLevel: 'error',
    });
    if (result === undefined) throw new Error('Lighthouse says nothing');
    const { categories, audits } = result.lhr;
    for (const category of CATEGORIES) {
      const { score, auditRefs } = categories[category]!;
      scores.get(category)!.push((score ?? 0) * 100);
      for (const { id, weight } of auditRefs)
        if (weight > 0 && (audits[id]?.score ?? 1) < 0.9) faults.add(`${category}: ${audits[id]!.title}`);
    }
  }
  console.log(name, Object.fromEntries([...scores].map(([category, all]) => [category, median(all)])));
  for (const fault of faults) console.log(`  ${fault}`);
}
