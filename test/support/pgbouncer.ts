import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { program } from './installed.ts';
import { NOBODY, type PostgresServer } from './postgres.ts';
import { tempDir } from './service.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** The part of docs/backends.md that tells how to set PgBouncer up, as it is there. */
async function documented(): Promise<string> {
  const text = await readFile(new URL('../../docs/backends.md', import.meta.url), 'utf8');
  const [, settings = ''] = /```ini\n(\[pgbouncer\]\n.*?)```/s.exec(text) ?? [];
  return settings;
}

/**
 * Starts a real PgBouncer in transaction mode before a server; it ends when the test ends.
 * @returns the address of a database of the server through it
 */
export async function startPgBouncer(t: Scope, server: PostgresServer): Promise<(url: string) => string> {
  const dir = await tempDir(t);
  const port = await freePort();
  const file = join(dir, 'pgbouncer.ini');
  const target = `host=127.0.0.1 port=${server.port} user=postgres`;
  const own = `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\n`;
  await writeFile(file, `[databases]\n* = ${target}\n${await documented()}${own}`);
  await chmod(dir, 0o755);
  const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (as.uid) await chown(file, NOBODY, NOBODY);
  const bouncer = spawn(program('pgbouncer'), [file], { ...as, stdio: ['ignore', 'ignore', 'pipe'] });
  const closed = once(bouncer, 'close');
  t.teardown(async () => {
    // At once, whoever is connected.
    bouncer.kill('SIGTERM');
    await closed;
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    bouncer.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('process up')) resolve();
    });
    closed.then(() => reject(new Error(`PgBouncer ended: ${said}`)));
  });
  return (url) => url.replace(/:\d+\//, `:${port}/`);
}
