/** A process of its own that loads one URL, as a rule with autocannon; its order comes as JSON, its result goes out so. */
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import { type Loaded, type Order, rawLoad } from './raw-load.ts';

if (process.argv[2]) {
  const order: Order = JSON.parse(process.argv[2]);
  const loaded = await (order.raw ? rawLoad(order) : autocannonLoad(order));
  process.stdout.write(JSON.stringify(loaded));
}

async function autocannonLoad({ bodyFile, pathsFile, ...order }: Order): Promise<Loaded> {
  const body = bodyFile && { method: 'POST' as const, body: readFileSync(bodyFile) };
  const result = await autocannon({ ...order, ...body, ...(pathsFile && inTurn(pathsFile)) });
  const answers = result['2xx'] + result['3xx'];
  if (answers === 0 || answers < result.requests.total || result.errors > 0) {
    throw new Error(
      `of ${result.requests.total} requests ${answers} were answered well: ` +
        `${result['4xx']} × 4xx, ${result['5xx']} × 5xx, ${result.errors} errors`,
    );
  }
  return { answers, perSecond: answers / result.duration, p50: result.latency.p50, p99: result.latency.p99 };
}

/** Requests for one path after the other, on whatever connection. */
function inTurn(pathsFile: string): Pick<autocannon.Options, 'requests'> {
  const paths: string[] = JSON.parse(readFileSync(pathsFile, 'utf8'));
  let n = 0;
  return { requests: [{ setupRequest: (request) => ({ ...request, path: paths[n++ % paths.length]! }) }] };
}
