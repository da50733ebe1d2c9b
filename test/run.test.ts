import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { VERSION } from '../src/version.ts';

const FIXTURE = new URL('./fixtures/run-service.ts', import.meta.url).pathname;
const MAIN = new URL('../src/main.cjs', import.meta.url).pathname;

interface Run {
  readonly child: ChildProcess;
  readonly output: Promise<Record<string, unknown>[]>;
  readonly errors: Promise<string>;
  readonly exit: Promise<{ code: number | null; signal: string | null }>;
}

/** Root must stay who it is, for a checkout in its private home cannot be read by anybody else. */
const STAY = process.getuid?.() === 0 ? { PUID: '0' } : {};

const SIGN_IN = {
  PUBLIC_URL: 'https://notes.example',
  SERVICE_OIDC_ISSUER: 'https://accounts.example',
  SERVICE_OIDC_CLIENT_ID: 'notes',
  SERVICE_OIDC_CLIENT_SECRET: 'hush',
  SERVICE_OIDC_ALLOW: '*',
};

/** Starts the fixture, its DATA_DIR in a folder of the test, not under npm unless the environment says so. */
function start(t: Test, env: Record<string, string> = {}, command = [process.execPath, FIXTURE]): Run {
  const { npm_lifecycle_event: _, ...inherited } = process.env;
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    env: { ...inherited, DATA_DIR: t.testdir(), ...STAY, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  if (!child.stdout || !child.stderr) throw new Error('no pipes');
  const output = text(child.stdout).then((lines) =>
    lines
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
  );
  const exit = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  return { child, output, errors: text(child.stderr), exit };
}

/** Waits until standard output holds that text. */
async function says(child: ChildProcess, words: string): Promise<void> {
  let seen = '';
  while (!seen.includes(words)) seen += (await once(child.stdout as NodeJS.EventEmitter, 'data'))[0];
}

t.test('a signal stops the service and the exit code is 0', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { child, output, errors, exit } = start(t);
    await says(child, 'started');
    child.kill(signal);
    t.strictSame(await exit, { code: 0, signal: null });
    t.match(await output, [
      { level: 'info', msg: 'starting', version: VERSION, node: process.versions.node },
      { msg: 'started', url: 'http://0.0.0.0:3000' },
      { level: 'warn', msg: /^SERVICE_PASSWORD is not set: / },
      { msg: 'stopping', reason: signal },
      { msg: 'stopped' },
    ]);
    t.equal(
      await errors,
      'Note Feed is open at http://localhost:3000. Post a first note with: ' +
        "curl -d 'Hello' http://localhost:3000/my-first-feed\n",
    );
  }
});

t.test('a service whose standard error cannot be written goes on', async (t) => {
  const entry = ['sh', '-c', 'unset NODE_OPTIONS; exec "$0" "$1" 2>/dev/full', process.execPath, MAIN];
  const { child, output, exit } = start(t, { HOST: '127.0.0.1', PORT: '0' }, entry);
  await says(child, '"started"');
  // Time for the error to reach it.
  await setTimeout(300);
  child.kill();
  t.match(await exit, { code: 0 });
  t.match((await output).at(-1), { msg: 'stopped' });
});

t.test('a silent log has no line, from the start to the stop', async (t) => {
  const { child, output, errors, exit } = start(t, { SERVICE_LOG_LEVEL: 'silent' });
  await once(child.stderr!, 'data');
  child.kill();
  t.match(await exit, { code: 0 });
  t.strictSame(await output, []);
  t.match(await errors, /^Note Feed is open at [^\n]*\n$/);
});

t.test(
  'metrics of a locked instance that are open to all, and reports that nobody can read, are warned of',
  async (t) => {
    const locked = { SERVICE_PASSWORD: 'secret', SERVICE_METRICS: '1' };
    const reporting = { SERVICE_PASSWORD: 'secret', SERVICE_REPORT_URL: 'builtin' };
    for (const [env, warnings] of [
      [locked, [{ msg: /^SERVICE_METRICS_TOKEN is not set: / }]],
      [{ ...SIGN_IN, SERVICE_METRICS: '1' }, [{ msg: /^SERVICE_METRICS_TOKEN is not set: / }]],
      [{ ...locked, SERVICE_METRICS_TOKEN: 'token' }, []],
      [{ ...locked, SERVICE_METRICS: '0' }, []],
      [reporting, [{ msg: /^SERVICE_OPERATOR_TOKEN is not set: / }]],
      [{ ...reporting, SERVICE_OPERATOR_TOKEN: 'o'.repeat(32) }, []],
    ] as const) {
      const { child, output } = start(t, env);
      await says(child, 'started');
      child.kill();
      const found = (await output).filter(({ level }) => level === 'warn');
      t.match(found, warnings);
      t.equal(found.length, warnings.length);
    }
  },
);

t.test("Node's warnings are lines of the log", async (t) => {
  const { child, output, errors } = start(t, { FAKE: 'warns', SERVICE_LOG_LEVEL: 'debug' });
  await says(child, 'is old');
  child.kill();
  const warnings = (await output).filter(({ msg }) => msg === 'Node warns');
  t.match(warnings, [
    { level: 'debug', warning: 'ExperimentalWarning: is on trial' },
    { level: 'warn', warning: 'DeprecationWarning: is old' },
  ]);
  t.notMatch(await errors, 'Warning');
});

t.test('the friendly line names the public address where there is one', async (t) => {
  const { child, errors } = start(t, { PUBLIC_URL: 'https://notes.example/x/', SERVICE_TITLE: 'Our Notes' });
  await says(child, 'started');
  child.kill();
  t.match(
    await errors,
    /^Our Notes is open at https:\/\/notes.example\/x\. .* https:\/\/notes.example\/x\/my-first-feed\n$/,
  );
});

t.test('with a password no warning is logged, and the first post has it', async (t) => {
  const { child, output, errors } = start(t, { SERVICE_PASSWORD: 'hush' });
  await says(child, 'started');
  child.kill();
  t.strictSame(
    (await output).filter(({ level }) => level !== 'info'),
    [],
  );
  t.match(await errors, ` with: curl -d 'Hello' -H "Authorization: Bearer $SERVICE_PASSWORD" http`);
  t.notMatch(await errors, 'hush');
});

t.test('with sign-in no warning is logged either', async (t) => {
  const { child, output, errors } = start(t, SIGN_IN);
  await says(child, 'started');
  child.kill();
  t.strictSame(
    (await output).filter(({ level }) => level !== 'info'),
    [],
  );
  t.equal(await errors, 'Note Feed is open at https://notes.example. Sign in there to post.\n');
});

t.test('a signal ends a start that takes long', async (t) => {
  const { child, output, errors, exit } = start(t, { FAKE: 'never starts' });
  await says(child, 'starting');
  child.kill('SIGTERM');
  t.strictSame(await exit, { code: 0, signal: null });
  t.match(await output, [
    { msg: 'starting' },
    { level: 'info', msg: 'stopped before the start was done', reason: 'SIGTERM' },
  ]);
  t.equal(await errors, '');
});

t.test('a second signal ends a stop that takes too long', async (t) => {
  const { child, exit } = start(t, { FAKE: 'never stops' });
  await says(child, 'started');
  child.kill('SIGTERM');
  await says(child, 'stopping');
  child.kill('SIGINT');
  t.strictSame(await exit, { code: 1, signal: null });
});

t.test('under npm, a Ctrl-C that arrives twice counts once', async (t) => {
  const { child, exit } = start(t, { FAKE: 'slow stop', npm_lifecycle_event: 'start' });
  await says(child, 'started');
  child.kill('SIGINT');
  child.kill('SIGTERM');
  t.strictSame(await exit, { code: 0, signal: null });
});

t.test('under npm, a later signal is a second one', async (t) => {
  const { child, exit } = start(t, { FAKE: 'never stops', npm_lifecycle_event: 'start' });
  await says(child, 'started');
  const ended = exit.then(() => true);
  while (!(await Promise.race([ended, setTimeout(50, false)]))) child.kill('SIGINT');
  t.strictSame(await exit, { code: 1, signal: null });
});

t.test('under npm, the service stops when its parent is killed', async (t) => {
  const command = ['sh', '-c', '"$0" "$1" & wait', process.execPath, FIXTURE];
  const { child, output } = start(t, { npm_lifecycle_event: 'start' }, command);
  await says(child, 'started');
  child.kill('SIGKILL');
  t.match((await output).slice(-2), [{ msg: 'stopping', reason: 'the parent is gone' }, { msg: 'stopped' }]);
});

t.test('every wrong setting is one line, and the exit code is 1', async (t) => {
  const { output, errors, exit } = start(t, { PORT: 'x', SERVICE_SECRET: 'hush', SERVICE_LOG_LEVEL: 'loud' });
  t.strictSame(await exit, { code: 1, signal: null });
  t.match((await errors).split('\n'), [
    /^PORT must be/,
    /^SERVICE_SECRET must be/,
    /^SERVICE_LOG_LEVEL must be/,
    /^$/,
  ]);
  t.notMatch(await errors, 'hush');
  t.strictSame(await output, []);
});

t.test('a start that fails is one line, and the exit code is 1', async (t) => {
  const { output, errors, exit } = start(t, { FAKE: 'no start' });
  t.strictSame(await exit, { code: 1, signal: null });
  t.equal(await errors, 'Note Feed cannot start: the port is taken\n');
  t.match(await output, [{ msg: 'starting' }]);
  const talkative = start(t, { FAKE: 'no start', SERVICE_LOG_LEVEL: 'debug' });
  t.match(await talkative.output, [
    { msg: 'starting' },
    { err: { message: 'the port is taken', cause: { message: 'EADDRINUSE' } } },
  ]);
});

t.test('a stop that fails is logged, and the exit code is 1', async (t) => {
  const { child, output, exit } = start(t, { FAKE: 'no stop' });
  await says(child, 'started');
  child.kill();
  t.strictSame(await exit, { code: 1, signal: null });
  t.match((await output).at(-1), {
    level: 'error',
    msg: 'the stop failed',
    err: { message: 'cannot let go' },
  });
});

t.test('an error that reaches nobody is logged and ends the process', async (t) => {
  for (const [fake, message] of [
    ['throws', /JSON/],
    ['rejects', /nobody waits/],
  ] as const) {
    const { output, exit } = start(t, { FAKE: fake });
    t.strictSame(await exit, { code: 1, signal: null });
    t.match((await output).at(-1), { level: 'error', err: { message } });
  }
});
