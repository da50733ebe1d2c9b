import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, renameSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { createLog, type LogLevel } from '../../src/telemetry/log.ts';

const FLOOD = new URL('../fixtures/log-flood.ts', import.meta.url).pathname;
const LINES = 200_000;

/** A log that writes into an array, one parsed line each. */
function collected(level: LogLevel = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  return { lines, log: createLog({ level, destination: { write, lost: 0, close: async () => {} } }) };
}

/** Starts the flooding process with that standard output. */
async function start(t: Test, stdout: number | 'pipe'): Promise<ChildProcess> {
  const child = spawn(process.execPath, [FLOOD], { stdio: ['ignore', stdout, 'inherit', 'ipc'] });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

async function flood(child: ChildProcess, lines: number): Promise<{ rss: number }> {
  child.send(lines);
  const [answer] = await once(child, 'message');
  return answer;
}

async function end(child: ChildProcess): Promise<number | null> {
  const exit = once(child, 'exit');
  child.send('end');
  const [code] = await exit;
  return code;
}

/** A real pipe whose reading end is ours. */
function pipe(t: Test): { readEnd: number; writeEnd: number } {
  const path = join(t.testdir(), 'pipe');
  execFileSync('mkfifo', [path]);
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { readEnd, writeEnd: openSync(path, constants.O_WRONLY) };
}

/** Everything the stream gives up to the line that says how many were lost, and what follows until its end. */
async function readToTheEnd(t: Test, stream: Readable, child: ChildProcess): Promise<string> {
  let received = '';
  let ending = false;
  for await (const piece of stream.setEncoding('utf8')) {
    received += piece;
    if (ending || !received.includes('"lost":')) continue;
    ending = true;
    t.equal(await end(child), 0);
  }
  return received;
}

/** Counts what arrived and what the lines themselves say was lost. */
function account(received: string) {
  const lines = received.trimEnd().split('\n');
  const parsed = lines.map((line) => JSON.parse(line) as { msg: string; lost?: number });
  const lost = parsed.reduce((sum, line) => sum + (line.lost ?? 0), 0);
  return { arrived: parsed.filter((line) => line.msg === 'flood').length, lost };
}

/** Floods a child that nobody reads from, then reads, and checks that nothing grew or went missing unsaid. */
async function checkStalled(t: Test, child: ChildProcess, stream: Readable): Promise<void> {
  const before = await flood(child, 1);
  const after = await flood(child, LINES);
  const grown = after.rss - before.rss;
  t.ok(grown < 100 * 1024 * 1024, `memory grew by ${grown} bytes`);
  const { arrived, lost } = account(await readToTheEnd(t, stream, child));
  t.ok(arrived > 0 && lost > 0, `${arrived} arrived, ${lost} lost`);
  t.equal(arrived + lost, LINES + 1);
}

t.test('a line is one JSON object with level, time, message and fields', async (t) => {
  const { lines, log } = collected();
  log.info('started', { port: 3000 });
  t.match(lines, [{ level: 'info', time: /^\d{4}-\d\d-\d\dT.*Z$/, msg: 'started', port: 3000 }]);
  t.strictSame(Object.keys(lines[0] ?? {}), ['level', 'time', 'port', 'msg']);
});

t.test('lines below the level are not written', async (t) => {
  for (const [level, expected] of [
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
    ['silent', []],
  ] as const) {
    const { lines, log } = collected(level);
    for (const name of ['debug', 'info', 'warn', 'error'] as const) log[name]('x');
    t.strictSame(
      lines.map((line) => line.level),
      expected,
      level,
    );
  }
});

t.test('a stalled pipe loses lines, says how many, and stalls nothing', async (t) => {
  const { readEnd, writeEnd } = pipe(t);
  const child = await start(t, writeEnd);
  closeSync(writeEnd);
  await checkStalled(t, child, new Socket({ fd: readEnd, readable: true, writable: false }));
});

t.test('so does a stalled socket', async (t) => {
  const child = await start(t, 'pipe');
  assert(child.stdout);
  await checkStalled(t, child, child.stdout.pause());
});

t.test('a pipe that is never read does not hold up the end', async (t) => {
  const { readEnd, writeEnd } = pipe(t);
  const child = await start(t, writeEnd);
  await flood(child, 2000);
  t.equal(await end(child), 0);
  closeSync(readEnd);
  closeSync(writeEnd);
});

t.test('a reader that went away does not end the process', async (t) => {
  const { readEnd, writeEnd } = pipe(t);
  const child = await start(t, writeEnd);
  closeSync(writeEnd);
  closeSync(readEnd);
  await flood(child, 2000);
  await flood(child, 2000);
  t.equal(await end(child), 0);
});

t.test('a file gets every line, and keeps what it had', async (t) => {
  const path = join(t.testdir({ out: 'before\n' }), 'out');
  const file = openSync(path, 'a');
  const child = await start(t, file);
  closeSync(file);
  await flood(child, 500);
  t.equal(await end(child), 0);
  const [first, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
  t.equal(first, 'before');
  t.strictSame(
    lines.map((line) => JSON.parse(line).n),
    Array.from({ length: 500 }, (_, n) => n),
  );
});

t.test('a full disk does not end the process', async (t) => {
  const full = openSync('/dev/full', 'a');
  const child = await start(t, full);
  closeSync(full);
  await flood(child, 2000);
  t.equal(await end(child), 0);
});

t.test('an error is written with its code, its causes and no path', async (t) => {
  const { lines, log } = collected();
  let missing: unknown;
  try {
    readFileSync('/nowhere/secret-feed/x.md');
  } catch (error) {
    missing = error;
  }
  log.error('failed', {
    err: new TypeError('no note', { cause: new Error('cannot read', { cause: missing }) }),
  });
  t.match(lines[0], {
    err: {
      type: 'TypeError',
      message: 'no note',
      stack: /^ {4}at /,
      cause: {
        message: 'cannot read',
        cause: { code: 'ENOENT', message: "ENOENT: no such file or directory, open '<path>'" },
      },
    },
  });
  t.notMatch(JSON.stringify(lines), 'secret-feed');
});

t.test('an error about two paths is written with neither', async (t) => {
  const { lines, log } = collected();
  try {
    renameSync('/nowhere/secret-feed/x.md', '/nowhere/other-feed/x.md');
  } catch (err) {
    log.error('failed', { err });
  }
  t.match(lines[0], { err: { message: "ENOENT: no such file or directory, rename '<path>' -> '<path>'" } });
  t.notMatch(JSON.stringify(lines), /secret-feed|other-feed/);
});

t.test('errors that cause each other, and things that are no errors', async (t) => {
  const { lines, log } = collected();
  const a = new Error('a');
  a.cause = new Error('b', { cause: a });
  log.error('circle', { err: a });
  t.equal(JSON.stringify(lines[0]).match(/"message"/g)?.length, 6);
  log.error('thrown', { err: 'just text' });
  t.match(lines[0], { err: { message: 'a', cause: { message: 'b' } } });
  t.match(lines[1], { err: { type: 'string', message: 'just text' } });
});
