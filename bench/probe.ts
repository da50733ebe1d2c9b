/**
 * A process of its own that reads one URL on 8 connections, with a pause after each answer, for some seconds: what
 * a reader waits, in microseconds where autocannon counts whole milliseconds. Prints the milliseconds of p50 and p99.
 */
import { Agent, get } from 'node:http';
import { setTimeout } from 'node:timers/promises';

const CONNECTIONS = 8;
const PAUSE_MS = 3;

/** One URL to read. */
export interface ProbeOrder {
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly seconds: number;
}

/** Milliseconds of waiting. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
}

if (process.argv[2]) {
  const { url, headers = {}, seconds }: ProbeOrder = JSON.parse(process.argv[2]);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const waits: number[] = [];
  const end = performance.now() + seconds * 1000;
  const wait = () =>
    new Promise<number>((resolve, reject) => {
      const start = performance.now();
      get(url, { agent, headers }, (response) => {
        response.resume().on('end', () => resolve(performance.now() - start));
      }).on('error', reject);
    });
  const readUntilTheEnd = async () => {
    while (performance.now() < end) {
      waits.push(await wait());
      await setTimeout(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, readUntilTheEnd));
  agent.destroy();
  waits.sort((a, b) => a - b);
  const at = (part: number) => waits[Math.floor(waits.length * part)] ?? Number.NaN;
  process.stdout.write(JSON.stringify({ p50: at(0.5), p99: at(0.99) } satisfies Waits));
}
