import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import t from 'tap';
import { ServiceProcess } from '../support/service-process.ts';

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;

/** Runs the command with those settings and gives exit code and output. */
async function health(env: Record<string, string>, args: string[] = []) {
  const { PATH = '' } = process.env;
  const run = promisify(execFile)(process.execPath, [MAIN, 'health', ...args], { env: { PATH, ...env } });
  const { code = 0, stdout, stderr } = await run.catch((error) => error);
  return { code, stdout, stderr };
}

const READY = { code: 0, stdout: 'The service is ready.\n', stderr: '' };

/** A free port of those that browsers never ask: it is one like any other. */
async function blockedPort(): Promise<string> {
  for (const port of [6669, 6668, 6667, 6666, 6665]) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '::', () => server.close(() => resolve(true)));
    });
    if (isFree) return String(port);
  }
  throw new Error('all of these ports are used');
}

t.test('a service that takes requests is ready, whatever address and port it listens on', async (t) => {
  for (const [HOST, PORT] of [
    ['0.0.0.0', '0'],
    ['::', await blockedPort()],
  ] as const) {
    const { port } = await ServiceProcess.start(t, { env: { HOST, PORT } });
    t.strictSame(await health({ HOST, PORT: String(port) }), READY, HOST);
  }
});

t.test('it needs no setting but the address, and says when the service has lost its storage', async (t) => {
  const { dir, port } = await ServiceProcess.start(t);
  t.strictSame(await health({ PORT: String(port), SERVICE_WORKERS: 'x', SERVICE_PASSWRD: 'x' }), READY);
  await rm(dir, { recursive: true });
  const stderr = 'The service is not ready: storage unavailable.\n';
  t.strictSame(await health({ HOST: '127.0.0.1', PORT: String(port) }), { code: 1, stdout: '', stderr });
});

t.test('where nothing answers there is none', async (t) => {
  for (const said of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"status"']) {
    const silent = createServer((socket) => socket.on('error', () => {}).write(said)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.teardown(() => silent.close());
    const { port } = silent.address() as { port: number };
    const answer = {
      code: 1,
      stdout: '',
      stderr: `The service is not ready: it does not answer at http://127.0.0.1:${port} within 2 s.\n`,
    };
    t.strictSame(await health({ PORT: String(port) }), answer);
    silent.close();
  }
});

t.test('settings that cannot be used, and arguments, are told of', async (t) => {
  t.strictSame(await health({ PORT: 'x' }), {
    code: 1,
    stdout: '',
    stderr: 'PORT must be a whole number from 0 to 65535, not "x"\n',
  });
  t.match(await health({}, ['x']), { code: 1, stdout: '', stderr: /^Note Feed takes no arguments but/ });
});
