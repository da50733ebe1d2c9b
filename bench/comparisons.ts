/** What is measured: a load of one server, and the load of another, or another load, that it is held against. */
import type { Round } from './child.ts';
import type { Order } from './raw-load.ts';
import { type Bodies, FEED_PASSWORD, PROTECTED_FEED, type Read } from './samples.ts';
import type { ServerProcess } from './server-process.ts';

/** Pictures of one round, 200 KB each: enough to measure, and no more than a disk can spare. */
const PICTURES = 1000;

/** The servers that are compared: the service without and with its request log, and the bare one. */
export interface Servers {
  readonly service: ServerProcess;
  readonly logging: ServerProcess;
  readonly bare: ServerProcess;
}

/** Two loads that run in turn. */
export interface Comparison {
  readonly name: string;
  readonly subject: [ServerProcess, Order];
  readonly baseline: [ServerProcess, Order];
  /** What the ratio is made of: CPU time per request, or requests per second. More than 1 is better than the baseline. */
  readonly basis: 'CPU' | 'requests/s';
  /** The baseline syncs to the disk with every request. */
  readonly isDurable?: boolean;
}

/** How long and on how many connections. */
export interface Load {
  readonly connections: number;
  readonly seconds: number;
}

/** The ratio of a comparison. */
export function ratioOf({ basis }: Comparison, subject: Round, baseline: Round): number {
  return basis === 'CPU' ? baseline.cpu / subject.cpu : subject.perSecond / baseline.perSecond;
}

/** Reads of the service, beside the bare server answering the same bytes. */
export function readComparisons(
  { service, bare }: Servers,
  reads: readonly Read[],
  { connections, seconds }: Load,
): Comparison[] {
  return reads.map(({ name, path, headers }, n) => {
    const order = { headers, connections, duration: seconds, raw: name.startsWith('picture') };
    return {
      name,
      subject: [service, { ...order, url: service.url + path }],
      baseline: [bare, { ...order, url: `${bare.url}/${n}` }],
      basis: 'CPU',
    };
  });
}

/** Posts, beside the same writes synced one at a time. */
export function postComparisons(
  { service, bare }: Servers,
  { text, picture }: Bodies,
  { connections, seconds }: Load,
): Comparison[] {
  const posts: [string, string, string, Partial<Order>][] = [
    ['post 1 KB, durable', text, 'text/markdown', { duration: seconds }],
    ['post picture, 200 KB', picture, 'image/png', { amount: PICTURES }],
  ];
  return posts.map(([name, bodyFile, type, length]) => {
    const order = { headers: { 'content-type': type }, bodyFile, connections, ...length };
    return {
      name,
      subject: [service, { ...order, url: `${service.url}/bench-posts` }],
      baseline: [bare, { ...order, url: `${bare.url}/post` }],
      basis: 'requests/s',
      isDurable: true,
    };
  });
}

/** Posts with a feed password, beside posts to a feed that has none. */
export function passwordComparison(
  { service }: Servers,
  { text }: Bodies,
  { connections, seconds }: Load,
): Comparison {
  const headers = { 'content-type': 'text/markdown' };
  const order = { bodyFile: text, connections, duration: seconds };
  return {
    name: 'post 1 KB with a feed password (without as baseline)',
    subject: [
      service,
      {
        ...order,
        url: `${service.url}/${PROTECTED_FEED}`,
        headers: { ...headers, 'x-feed-password': FEED_PASSWORD },
      },
    ],
    baseline: [service, { ...order, url: `${service.url}/bench-open`, headers }],
    basis: 'requests/s',
  };
}

/** What the request log costs. */
export function logComparison(
  { service, logging }: Servers,
  [first]: readonly Read[],
  logged: Read,
  { connections, seconds }: Load,
): Comparison {
  const order = { connections, duration: seconds };
  return {
    name: 'request log (RSS with it, and without as baseline)',
    subject: [logging, { ...order, url: logging.url + logged.path }],
    baseline: [service, { ...order, url: service.url + (first?.path ?? '/') }],
    basis: 'CPU',
  };
}
