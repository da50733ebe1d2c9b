import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { containerSettings } from './containers.ts';
import { eventually } from './eventually.ts';
import { type ProcessOptions, ServiceProcess } from './service-process.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** Two processes of the service under one supervisor, on a database. */
export async function startProcesses(
  t: Scope,
  databaseUrl: string,
  { env, ...options }: ProcessOptions = {},
): Promise<ServiceProcess> {
  const own = { ...containerSettings(databaseUrl), SERVICE_TRUST_PROXY: '0', SERVICE_PROCESSES: '2' };
  const service = await ServiceProcess.start(t, { ...options, env: { ...own, ...env } });
  await eventually(() => pidsThatSay(service, 'started').length === 2);
  return service;
}

/** The ids of the processes that have a line with that message. */
export function pidsThatSay(service: ServiceProcess, message: string): number[] {
  const lines = service.lines.filter(({ msg, pid }) => msg === message && pid !== undefined);
  return [...new Set(lines.map(({ pid }) => Number(pid)))];
}

/** A request on a connection of its own, so that any process may get it. */
export function askAnew(
  url: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; headers: IncomingMessage['headers']; text: string }> {
  return new Promise((resolve, reject) => {
    const fields = body === '' ? headers : { 'content-length': String(Buffer.byteLength(body)), ...headers };
    const sent = request(url, { method, headers: fields, agent: false }, (response) => {
      text(response).then(
        (said) => resolve({ status: response.statusCode ?? 0, headers: response.headers, text: said }),
        reject,
      );
    });
    sent.on('error', reject).end(body);
  });
}

/** Posts a text on a connection of its own. */
export function postAnew(service: ServiceProcess, feed: string, body: string) {
  const headers = { 'content-type': 'text/markdown' };
  return askAnew(`${service.url}/${feed}`, { method: 'POST', headers, body });
}

/** The sum of a metric over all its labels, or over those that match. */
export async function metric(service: ServiceProcess, name: string, labels = /(?:)/): Promise<number> {
  const { text: all } = await askAnew(`${service.url}/metrics`);
  const values = [...all.matchAll(new RegExp(`^${name}(\\{.*\\})? (\\S+)$`, 'gm'))];
  return values.reduce((sum, [, at = '', value]) => (labels.test(at) ? sum + Number(value) : sum), 0);
}
