/**
 * A process of its own that reads one URL, or posts to it, on 8 connections, with a pause after each answer, for some
 * seconds: what a client waits, in microseconds where autocannon counts whole milliseconds. Prints the milliseconds of
 * p50 and p99.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';

const CONNECTIONS = 8;
const PAUSE_MS = 3;

/** One URL to read or to post to. */
export interface ProbeOrder {
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly seconds: number;
  /** File whose bytes are posted; without it the request is a GET. */
  readonly bodyFile?: string;
  /** After each answer; 3 unless given. */
  readonly pauseMs?: number;
}

/** Milliseconds of waiting. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
}

if (process.argv[2]) {
  const order: ProbeOrder = JSON.parse(process.argv[2]);
  const { url, headers = {}, seconds, bodyFile, pauseMs = PAUSE_MS } = order;
  const body = bodyFile && readFileSync(bodyFile);
  const method = body ? 'POST' : 'GET';
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const waits: number[] = [];
  const end = performance.now() + seconds * 1000;
  const wait = () =>
    new Promise<number>((resolve, reject) => {
      const start = performance.now();
      const sent = request(url, { agent, method, headers }, (response) => {
        if ((response.statusCode ?? 0) >= 400) reject(new Error(`answered ${response.statusCode}`));
        response.resume().on('end', () => resolve(performance.now() - start));
      });
      sent.on('error', reject).end(body);
    });
  const askUntilTheEnd = async () => {
    while (performance.now() < end) {
      waits.push(await wait());
      await setTimeout(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, askUntilTheEnd));
  agent.destroy();
  waits.sort((a, b) => a - b);
  const at = (part: number) => waits[Math.floor(waits.length * part)] ?? Number.NaN;
  process.stdout.write(JSON.stringify({ p50: at(0.5), p99: at(0.99) } satisfies Waits));
}
