import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { readSome } from '../config.ts';
import type { Command } from './command.ts';

/** How long the service may take to answer, ms. */
const TIMEOUT_MS = 2_000;

/** Where to reach a service that listens on all addresses. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

const HELP = `npm run health

Asks the service that runs on this machine, at HOST and PORT, whether it is ready. The exit code is 0 if it is, else 1.
`;

/** Asks the service of these settings, running on this machine, whether requests should come to it: then it gives 0. */
export const command: Command = {
  help: HELP,
  words: [0, 0],
  async run(_words, _options, env) {
    const { host, port } = readSome(env, ['host', 'port']);
    const address = LOOPBACK[host] ?? host;
    const problem = await ask(`http://${address.includes(':') ? `[${address}]` : address}:${port}`);
    if (problem === undefined) process.stdout.write('The service is ready.\n');
    else process.stderr.write(`The service is not ready: ${problem}.\n`);
    return problem === undefined ? 0 : 1;
  },
};

/** Why requests should not come to the service at that address. `fetch` would refuse some ports. */
async function ask(url: string): Promise<string | undefined> {
  try {
    const request = get(`${url}/health/ready`, { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const { status } = (await json(response)) as { status: string };
    return response.statusCode === 200 ? undefined : status;
  } catch {
    return `it does not answer at ${url} within ${TIMEOUT_MS / 1000} s`;
  }
}
