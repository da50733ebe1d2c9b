/** What a supervisor does when its processes do not start, die, or do not end; they are a service that does nothing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { missing, program } from '../support/installed.ts';

const FIXTURE = new URL('../fixtures/run-service.ts', import.meta.url).pathname;

t.setTimeout(600_000);

interface Run {
  readonly child: ChildProcess;
  readonly lines: Record<string, unknown>[];
  readonly errors: Promise<string>;
  readonly exit: Promise<{ code: number | null; signal: string | null }>;
  /** Waits for that many lines of processes, or of the supervisor, with a message. */
  says(msg: string, times?: number): Promise<Record<string, unknown>[]>;
}

/** Starts two processes that behave as FAKE says, or as the file FAKE_FILE says when they start. */
function start(t: Test, env: Record<string, string> = {}, command = [process.execPath, FIXTURE]): Run {
  const { npm_lifecycle_event: _, ...inherited } = process.env;
  const settings = {
    PORT: '0',
    HOST: '127.0.0.1',
    DATA_DIR: t.testdirName,
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: 'postgres://127.0.0.1:1/none',
    SERVICE_SECRET: 'a secret that is long enough for it',
    SERVICE_PROCESSES: '2',
    ...(process.getuid?.() === 0 && { PUID: '0' }),
  };
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    env: { ...inherited, ...settings, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const lines: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => {
    // A terminal shows what is for people, too.
    if (line.startsWith('{')) lines.push(JSON.parse(line));
  });
  const that = (message: string) => lines.filter(({ msg }) => msg === message);
  return {
    child,
    lines,
    errors: text(child.stderr!),
    exit: once(child, 'close').then(([code, signal]) => ({ code, signal })),
    async says(message, times = 1) {
      await eventually(() => that(message).length >= times || child.exitCode !== null);
      return that(message);
    },
  };
}

const OPEN = 'SERVICE_PASSWORD is not set: whoever reaches the service may make feeds and post notes';

t.test('warnings and the first line for people come from the supervisor alone', async (t) => {
  const { child, lines, errors, exit, says } = start(t);
  await says('started', 3);
  child.kill();
  t.strictSame(await exit, { code: 0, signal: null });
  t.match(await errors, /^Note Feed is open at [^\n]*\n$/);
  t.strictSame(
    lines.filter(({ level }) => level === 'warn').map(({ msg, pid }) => ({ msg, pid })),
    [{ msg: OPEN, pid: undefined }],
  );
});

t.test('a first process that cannot start is the only one, and its reason is said', async (t) => {
  const { lines, errors, exit } = start(t, { FAKE: 'no start' });
  t.strictSame(await exit, { code: 1, signal: null });
  t.equal(await errors, 'Note Feed cannot start: the port is taken\n');
  t.equal(lines.filter(({ msg, pid }) => msg === 'starting' && pid !== undefined).length, 1);
});

t.test('processes that die again and again are replaced after longer and longer pauses', async (t) => {
  const { child, exit, says } = start(t, { FAKE: 'throws' });
  const ended = await says('a process ended', 8);
  t.match(ended[0], { level: 'error', how: 'with code 1', pid: Number });
  const starting = (await says('starting', 8)).filter(({ pid }) => pid !== undefined);
  t.ok(starting.length >= 5);
  child.kill();
  t.equal((await exit).code, 0);
  const at = (line: Record<string, unknown>) => Date.parse(String(line.time));
  // Three replacements of each of two: at once, after 250 ms and after 500 ms.
  t.ok(at(ended.at(-1)!) - at(ended[0]!) >= 750, 'the pauses are kept');
});

t.test('a replacement that cannot start is tried again', async (t) => {
  const file = join(t.testdir({ fake: '' }), 'fake');
  const { child, exit, says } = start(t, { FAKE_FILE: file });
  const [first] = (await says('started', 3)).filter(({ pid }) => pid !== undefined);
  await writeFile(file, 'no start');
  process.kill(Number(first!.pid), 'SIGKILL');
  t.match(await says('a process cannot start'), [{ level: 'error', reason: 'the port is taken' }]);
  await writeFile(file, '');
  await says('started', 4);
  child.kill();
  t.strictSame(await exit, { code: 0, signal: null });
});

/** A module that a supervisor loads: the system has no memory for the third and the fifth process that it starts. */
const NO_MEMORY = `data:text/javascript,
  import processes from 'node:child_process';
  import { syncBuiltinESMExports } from 'node:module';
  const { spawn } = processes;
  let count = 0;
  processes.spawn = (...command) => {
    count += 1;
    if (count === 3 || count === 5) throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' });
    return spawn(...command);
  };
  syncBuiltinESMExports();`;

t.test('without memory for another process the others go on', async (t) => {
  const command = [process.execPath, '--import', NO_MEMORY, FIXTURE];
  const { child, exit, says } = start(t, {}, command);
  const [first] = (await says('started', 3)).filter(({ pid }) => pid !== undefined);
  process.kill(Number(first!.pid), 'SIGKILL');
  t.match(await says('a process cannot start'), [{ level: 'error', reason: /ENOMEM/ }]);
  t.equal((await says('started', 4)).length, 4, 'it is tried again');
  child.kill('SIGHUP');
  t.equal((await says('the restart ended early, so some processes were not replaced')).length, 1);
  child.kill();
  t.strictSame(await exit, { code: 0, signal: null });
  t.equal((await says('stopped')).length, 3);
});

t.test('a restart whose new process cannot start keeps the old ones', async (t) => {
  const file = join(t.testdir({ fake: '' }), 'fake');
  const { child, lines, exit, says } = start(t, { FAKE_FILE: file });
  await says('started', 3);
  await writeFile(file, 'no start');
  child.kill('SIGHUP');
  t.match(await says('the restart ended early, so some processes were not replaced'), [{ level: 'error' }]);
  t.equal(lines.filter(({ msg }) => msg === 'stopping').length, 0);
  await writeFile(file, '');
  child.kill('SIGHUP');
  await says('restarted');
  t.equal((await says('stopped')).length, 2, 'the old ones have ended');
  child.kill();
  t.strictSame(await exit, { code: 0, signal: null });
  t.equal((await says('stopped')).length, 5);
});

t.test('an old process that ends while a restart fails is replaced', async (t) => {
  const file = join(t.testdir({ fake: '' }), 'fake');
  const { child, lines, exit, says } = start(t, { FAKE_FILE: file });
  const [first] = (await says('started', 3)).filter(({ pid }) => pid !== undefined);
  await writeFile(file, 'no start later');
  child.kill('SIGHUP');
  await says('starting', 4);
  process.kill(Number(first!.pid), 'SIGKILL');
  t.ok(await eventually(() => !existsSync(`/proc/${first!.pid}`)));
  await writeFile(file, '');
  t.equal((await says('started', 4)).length, 4);
  t.equal(lines.filter(({ msg }) => msg === 'a process ended').length, 0, 'before the other one ends, too');
  child.kill();
  t.strictSame(await exit, { code: 0, signal: null });
});

t.test('what is asked of a supervisor while it restarts is done after that', async (t) => {
  const { child, exit, says } = start(t, { FAKE: 'slow stop' });
  await says('started', 3);
  child.kill('SIGHUP');
  await says('restarting');
  child.kill('SIGHUP');
  t.equal((await says('restarted', 2)).length, 2);
  child.kill();
  t.strictSame(await exit, { code: 0, signal: null });
});

t.test('settings may be in files', async (t) => {
  const dir = t.testdir({ port: '0', processes: '2' });
  const inFiles = { PORT_FILE: join(dir, 'port'), SERVICE_PROCESSES_FILE: join(dir, 'processes') };
  const { child, exit, says } = start(t, { PORT: '', SERVICE_PROCESSES: '', ...inFiles });
  t.equal((await says('started', 3)).length, 3);
  child.kill();
  t.strictSame(await exit, { code: 0, signal: null });
});

t.test('a process that is told to end alone is replaced', async (t) => {
  const { child, exit, says } = start(t);
  const [first] = (await says('started', 3)).filter(({ pid }) => pid !== undefined);
  process.kill(Number(first!.pid), 'SIGTERM');
  t.match(await says('a process ended'), [{ level: 'warn', how: 'with code 0', pid: first!.pid }]);
  await says('started', 4);
  child.kill();
  t.strictSame(await exit, { code: 0, signal: null });
});

t.test('Ctrl-C, which all get, stops all in order', async (t) => {
  const { child, lines, exit, says } = start(t, { FAKE: 'slow stop' });
  const pids = (await says('started', 3)).map(({ pid }) => pid).filter((pid) => pid !== undefined);
  for (const pid of [child.pid, ...pids]) process.kill(Number(pid), 'SIGINT');
  t.strictSame(await exit, { code: 0, signal: null });
  t.equal(lines.filter(({ msg }) => msg === 'stopped').length, 3);
});

t.test('all end when their terminal is closed', { skip: missing('script') }, async (t) => {
  const command = [program('script'), '-qec', `'${process.execPath}' '${FIXTURE}'`, '/dev/null'];
  const { child, says } = start(t, {}, command);
  const pids = (await says('started', 3)).map(({ pid, supervisor }) => Number(pid ?? supervisor));
  child.kill('SIGKILL');
  t.ok(await eventually(() => !pids.some(isAlive)));
});

t.test('a second signal ends all at once', async (t) => {
  const { child, exit, says } = start(t, { FAKE: 'never stops' });
  const pids = (await says('started', 3)).map(({ pid }) => pid).filter((pid) => pid !== undefined);
  child.kill('SIGTERM');
  await says('stopping', 3);
  child.kill('SIGTERM');
  t.strictSame(await exit, { code: 1, signal: null });
  t.ok(await eventually(() => pids.every((pid) => !isAlive(Number(pid)))));
});

t.test('a process whose stop fails makes the exit code 1', async (t) => {
  const { child, exit, says } = start(t, { FAKE: 'no stop' });
  await says('started', 3);
  child.kill();
  t.strictSame(await exit, { code: 1, signal: null });
  const [line] = (await says('the stop failed', 3)).filter(({ pid }) => pid === undefined);
  t.match(line, { err: { message: /^process \d+ ended with code 1$/ } });
});

t.test('a last line that a process did not finish is dropped', async (t) => {
  const { lines, says, child, exit } = start(t, { FAKE: 'tears', SERVICE_LOG_LEVEL: 'error' });
  await says('a process ended', 2);
  child.kill();
  await exit;
  t.strictSame(new Set(lines.map(({ msg }) => msg)), new Set(['whole', 'a process ended']));
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
