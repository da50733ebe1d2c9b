import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from './free-port.ts';
import { program } from './installed.ts';
import { tempDir } from './service.ts';

const CADDYFILE = new URL('../../deploy/Caddyfile', import.meta.url).pathname;

interface Scope {
  teardown(fn: () => unknown): void;
}

/** The proxy as deploy/Caddyfile describes it, on a port of its own. */
export interface Caddy {
  /** Its address, without a slash at the end. */
  readonly url: string;
  /** All lines of its log so far. */
  logged(): string;
}

/** Starts the proxy for a service at that host and port; it ends when the test ends. */
export async function startCaddy(t: Scope, service: string): Promise<Caddy> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const caddy = spawn(program('caddy'), ['run', '--config', CADDYFILE], {
    env: { HOME: await tempDir(t), SITE_ADDRESS: url, UPSTREAM_ADDRESS: service },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const closed = once(caddy, 'close');
  t.teardown(async () => {
    caddy.kill('SIGTERM');
    await closed;
  });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    caddy.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (log.includes('serving initial configuration')) resolve();
    });
    closed.then(() => reject(new Error(`Caddy ended: ${log}`)));
  });
  return { url, logged: () => log };
}
