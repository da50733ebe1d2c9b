/** A process of its own that loads one URL, as a rule with autocannon; its order comes as JSON, its result goes out so. */
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import { rawLoad } from './raw-load.ts';

/** One URL to load. */
export interface Order {
  readonly url: string;
  readonly connections: number;
  /** Seconds; ignored with `amount`. */
  readonly duration?: number;
  /** Requests in all. */
  readonly amount?: number;
  readonly headers?: Record<string, string>;
  /** Large answers that autocannon is too slow for; GET with `duration` alone. */
  readonly raw?: boolean;
  /** File whose bytes are posted; without it the request is a GET. */
  readonly bodyFile?: string;
  /** File with a JSON list of paths to read in turn, instead of the URL's own. */
  readonly pathsFile?: string;
}

/** What came of it. */
export interface Loaded {
  /** Answers with a status of 200 to 399. */
  readonly answers: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

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
