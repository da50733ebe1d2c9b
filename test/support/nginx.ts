import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { program } from './installed.ts';
import { tempDir } from './service.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

const ACCESS_LOG = 'access.log';

/** The proxy as deploy/nginx.conf describes it, on a port of its own. */
export interface Nginx {
  readonly port: number;
  /** Its address, without a slash at the end. */
  readonly url: string;
  /** All lines of its logs so far. */
  logged(): Promise<string>;
}

/** Starts the proxy, for services at the addresses of that network in place of 172.30.84; it ends when the test ends. */
export async function startNginx(t: Scope, network: string): Promise<Nginx> {
  const dir = await tempDir(t);
  await chmod(dir, 0o755);
  const port = await freePort();
  const file = join(dir, 'nginx.conf');
  const config = await readFile(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8');
  await writeFile(file, placed(config, { port, network, dir }));
  const nginx = spawn(program('nginx'), ['-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const closed = once(nginx, 'close');
  t.teardown(async () => {
    nginx.kill('SIGTERM');
    await closed;
  });
  let errors = '';
  await new Promise<void>((resolve, reject) => {
    nginx.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
      if (errors.includes('start worker process')) resolve();
    });
    closed.then(() => reject(new Error(`nginx ended: ${errors}`)));
  });
  const logged = async () => errors + (await readFile(join(dir, ACCESS_LOG), 'utf8'));
  return { port, url: `http://127.0.0.1:${port}`, logged };
}

/** The configuration with the places of a test: port, services, and the folder for its log and what is temporary. */
function placed(
  config: string,
  { port, network, dir }: { port: number; network: string; dir: string },
): string {
  return config
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replaceAll(/\b172\.30\.84\b/g, network)
    .replaceAll('/tmp/', `${dir}/`)
    .replace('/dev/stdout', join(dir, ACCESS_LOG));
}
