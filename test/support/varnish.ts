import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { program } from './installed.ts';
import { ask, tempDir } from './service.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** The cache as deploy/varnish.vcl describes it, on ports of its own. */
export interface Varnish {
  /** Its address, without a slash at the end. */
  readonly url: string;
  /** Where it takes purges. */
  readonly purgeUrl: string;
}

/**
 * Starts the cache before a service of that port, which need not run yet; it ends when the test ends.
 * @param edit changes the configuration
 */
export async function startVarnish(
  t: Scope,
  servicePort: number,
  edit = (config: string) => config,
): Promise<Varnish> {
  const dir = await tempDir(t);
  // Its second process is not root.
  await chmod(dir, 0o755);
  const file = join(dir, 'varnish.vcl');
  const config = await readFile(new URL('../../deploy/varnish.vcl', import.meta.url), 'utf8');
  await writeFile(file, edit(config.replace('"3000"', `"${servicePort}"`)));
  const [url, purgeUrl] = [await freePort(), await freePort()].map((port) => `127.0.0.1:${port}`);
  const options = ['-a', `http=${url}`, '-a', `purge=${purgeUrl}`, '-f', file, '-s', 'malloc,32m'];
  const varnish = spawn(
    program('varnishd'),
    ['-F', '-n', join(dir, 'work'), ...options, '-p', 'backend_idle_timeout=5'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let [errors, hasEnded] = ['', false];
  varnish.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const closed = once(varnish, 'close').then(() => {
    hasEnded = true;
  });
  t.teardown(async () => {
    varnish.kill('SIGTERM');
    await closed;
  });
  const answers = () =>
    ask(`http://${url}/`).then(
      () => true,
      () => false,
    );
  await eventually(async () => hasEnded || (await answers()));
  if (hasEnded) throw new Error(`varnishd ended: ${errors}`);
  return { url: `http://${url}`, purgeUrl: `http://${purgeUrl}` };
}
