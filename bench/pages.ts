/**
 * Measures what a page of a feed costs whose notes are rendered already: CPU time of the service, all its threads, per
 * page by the feed's name and by its read id, of 50 notes of 1 KB, not compressed. The pages are older ones, because
 * those are made for each request. Prints medians in ms. Needs Linux (/proc).
 *
 * `node bench/pages.ts --rounds 5 --requests 200`
 */
import { parseArgs } from 'node:util';
import { seedFeed } from './seeded-feed.ts';
import { ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, requests: { type: 'string', default: '200' } },
});
const requests = Number(options.requests);

const service = await ServerProcess.startService(temporaryFolder('pages'), { SERVICE_LOG_REQUESTS: '0' });
try {
  const feed = `${service.url}/bench-pages`;
  const { readId, ids } = await seedFeed(feed, 100);
  // The first page of the others begins behind the 50th.
  const before = `?before=${ids[50]}`;
  const pages = { 'feed page': feed + before, 'read-only page': `${service.url}/r/${readId}${before}` };
  const costs = new Map<string, number[]>();
  for (const url of Object.values(pages)) await read(url, requests);
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const [name, url] of Object.entries(pages)) {
      const start = service.cpuMicros();
      await read(url, requests);
      costs.set(name, [...(costs.get(name) ?? []), (service.cpuMicros() - start) / 1000 / requests]);
    }
  for (const [name, all] of costs) console.log(`${name} of 50 notes: ${median(all).toFixed(2)} ms of CPU`);
} finally {
  await service.stop();
}

async function read(url: string, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const response = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
    const text = await response.text();
    if (response.status !== 200 || text.split('<article').length !== 51)
      throw new Error(`the page was answered ${response.status} with other notes`);
  }
}
