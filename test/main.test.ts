import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';

const SOURCE = new URL('../src/', import.meta.url).pathname;
const execute = promisify(execFile);

/** Runs the entry as it is, in a project whose main.ts is the given text, and gives its output. */
async function enter(
  t: Test,
  main: string,
  { args = [] as string[], env = {}, dir = t.testdir({ workers: {} }) } = {},
) {
  mkdirSync(join(dir, 'src', 'web'), { recursive: true });
  for (const file of ['main.cjs', 'plain-sources.cjs'])
    copyFileSync(join(SOURCE, file), join(dir, 'src', file));
  writeFileSync(join(dir, 'package.json'), '{"type": "module"}');
  writeFileSync(join(dir, 'src', 'web', 'bundle.ts'), 'export const bundleAll = async () => ({});');
  writeFileSync(join(dir, 'src', 'main.ts'), main);
  const run = execute(process.execPath, [...args, join(dir, 'src', 'main.cjs')], {
    env: { ...process.env, ...env },
  });
  return run.catch((error) => error as { code: number; stdout: string; stderr: string });
}

/** Keeps the pool of threads busy and counts its threads. */
const COUNT_THREADS = `
import { pbkdf2 } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
const work = promisify(pbkdf2);
await Promise.all(Array.from({ length: 64 }, () => work('x', 'x', 100, 16, 'sha1')));
const names = readdirSync('/proc/self/task').map((id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8'));
console.log(names.filter((name) => name.startsWith('libuv-worker')).length);
`;

const onLinux = process.platform === 'linux' ? {} : { skip: 'threads are counted in /proc' };

t.test('the pool has 16 threads, or as many as the environment says', onLinux, async (t) => {
  t.equal((await enter(t, COUNT_THREADS, { env: { UV_THREADPOOL_SIZE: '' } })).stdout, '24\n');
  t.equal((await enter(t, COUNT_THREADS, { env: { UV_THREADPOOL_SIZE: '5' } })).stdout, '5\n');
});

t.test(
  'it runs a copy without types of the sources as they are now, or these if there can be none',
  async (t) => {
    const dir = t.testdir({ workers: {} });
    const main = (n: number) => `const n: number = ${n};console.log(n, import.meta.url.slice(-17));`;
    for (const n of [1, 1, 2]) t.equal((await enter(t, main(n), { dir })).stdout, `${n} build/src/main.js\n`);
    writeFileSync(join(dir, 'workers', 'more.ts'), 'enum No { copy }');
    t.match((await enter(t, main(2), { dir })).stdout, /^2 .*\/src\/main.ts\n/);
    // A copy of other sources that broke off has replaced a part of it, and these sources come back.
    t.match((await enter(t, main(3), { dir })).stdout, /^3 .*\/src\/main.ts\n/);
    rmSync(join(dir, 'workers', 'more.ts'));
    t.equal((await enter(t, main(2), { dir })).stdout, '2 build/src/main.js\n');
  },
);

t.test('a Node that is too old is told in one line what it takes', async (t) => {
  for (const [version, fits] of [
    ['20.20.2', false],
    ['22.18.9', false],
    ['22.19.0', true],
    ['24.0.0', true],
    ['9.11.2', false],
  ] as const) {
    const asVersion = join(t.testdirName, '..', `as-${version}.cjs`);
    writeFileSync(
      asVersion,
      `Object.defineProperty(process, 'versions', { value: { node: '${version}' } });`,
    );
    const answer = await enter(t, "console.log('runs')", { args: ['--require', asVersion] });
    t.equal(answer.stdout, fits ? 'runs\n' : '', version);
    if (!fits)
      t.match(answer, {
        code: 1,
        stderr: new RegExp(`^Note Feed needs Node >=22.19 and this is ${version}. [^\n]*\n$`),
      });
  }
});

/** The real entry, with that environment and none of ours but what finds programs. */
async function runEntry(args: string[], env: Record<string, string>) {
  const entry = join(SOURCE, 'main.cjs');
  const { PATH = '' } = process.env;
  const run = execute(process.execPath, [entry, ...args], { env: { PATH, ...env } });
  return run.catch((error) => error as { code: number; stdout: string; stderr: string });
}

const USABLE = 'The settings can be used.';

t.test('--check says what the settings mean, and makes nothing', async (t) => {
  const dataDir = join(t.testdir(), 'data');
  const { stdout, stderr } = await runEntry(['--check'], { DATA_DIR: dataDir });
  t.strictSame(stdout.split('\n'), [
    USABLE,
    `  Notes: plain files in ${dataDir}`,
    '  Address: 0.0.0.0 port 3000, with one process',
    '  Links: begin with the host of each request',
    '  Access: open to all, without SERVICE_PASSWORD',
    '  Pictures: of at most 5242880 bytes',
    '  Limits: 60 writes a minute for each client, any number of feeds, in each any number of texts and any number of pictures',
    '  Licenses: none are needed',
    '  Proxy: none is believed',
    '  Metrics: off',
    '  Found there: there is no folder yet, the service will make it',
    '',
  ]);
  t.equal(stderr, '');
  t.notOk(existsSync(dataDir));
});

t.test('--check shows no secret', async (t) => {
  const env = {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: 'postgres://me:hush-1@db.example:5433/notes?password=hush-2',
    SERVICE_SECRET: `hush-3${'x'.repeat(32)}`,
    SERVICE_PASSWORD: 'hush-4',
    SERVICE_METRICS: '1',
    SERVICE_METRICS_TOKEN: 'hush-5',
    SERVICE_OPERATOR_TOKEN: `hush-6${'x'.repeat(32)}`,
    SERVICE_RESERVED_FEEDS: 'hush-7',
    SERVICE_RESERVED_PASSWORD: 'hush-8',
    SERVICE_TRUST_PROXY: '1',
    SERVICE_IMAGE_UPLOADS: '0',
    SERVICE_MAX_FEEDS: '7',
    PUBLIC_URL: 'https://notes.example',
    SERVICE_OIDC_ISSUER: 'https://accounts.example/realm',
    SERVICE_OIDC_CLIENT_ID: 'hush-9',
    SERVICE_OIDC_CLIENT_SECRET: 'hush-10',
    SERVICE_OIDC_ALLOW: 'hush-11@notes.example,*',
    SERVICE_OIDC_FRIENDS_ISSUER: 'https://sso.friends.example',
    SERVICE_OIDC_FRIENDS_CLIENT_ID: 'hush-12',
    SERVICE_OIDC_FRIENDS_CLIENT_SECRET: 'hush-13',
    SERVICE_OIDC_FRIENDS_ALLOW: '@friends.example',
  };
  const { stdout, stderr } = await runEntry(['--check'], env);
  t.match(stderr, /^The database named by SERVICE_DATABASE_URL cannot be used \([^\n]*\)\.\n$/);
  t.match(stdout.split('\n'), [
    USABLE,
    '  Notes: PostgreSQL database notes on db.example port 5433',
    /Address/,
    '  Links: begin with https://notes.example',
    '  Access: with SERVICE_PASSWORD, or by signing in at accounts.example, whoever has an account there, ' +
      'or by signing in at sso.friends.example',
    '  Pictures: refused',
    /^ {2}Limits: .* 7 feeds, /,
    '  Licenses: none are needed',
    '  Proxy: the last X-Forwarded-For, -Host and -Proto are believed',
    '  Metrics: at /metrics, with SERVICE_METRICS_TOKEN',
  ]);
  t.notMatch(stdout + stderr, 'hush');
  const onSqlite = { SERVICE_STORAGE: 'sqlite', SERVICE_DATABASE_URL: 'file:/srv/notes.db' };
  t.match(
    (await runEntry(['--check'], { ...env, ...onSqlite })).stdout,
    '  Notes: SQLite database /srv/notes.db\n',
  );
});

t.test('--check names every wrong setting, and exits with 1', async (t) => {
  const env = { PORT: 'x', SERVICE_METRICS: 'yes', SERVICE_OPERATOR_TOKEN: 'hush' };
  const { code, stdout, stderr } = (await runEntry(['--check'], env)) as { code: number } & Awaited<
    ReturnType<typeof runEntry>
  >;
  t.strictSame([code, stdout], [1, '']);
  t.match(stderr.split('\n'), [
    /^PORT must be/,
    /^SERVICE_OPERATOR_TOKEN must/,
    /^SERVICE_METRICS must/,
    /^$/,
  ]);
  t.notMatch(stderr, 'hush');
});

t.test('arguments that nothing knows start nothing', async (t) => {
  for (const args of [['--chek'], ['--check', 'x'], ['']]) {
    const answer = await runEntry(args, { DATA_DIR: join(t.testdir(), 'data') });
    t.match(answer, { code: 1, stdout: '', stderr: /^Note Feed takes no arguments but --check/ });
  }
});

const { version } = JSON.parse(readFileSync(join(SOURCE, '../package.json'), 'utf8'));
const COMMANDS = ['--check', 'backup', 'health', 'operator', 'license', 'move'];

t.test('--help lists the commands, and --version prints the version', async (t) => {
  const { stdout, stderr } = await runEntry(['--help'], {});
  for (const command of COMMANDS) t.match(stdout, `\n  ${command} `);
  t.equal(stderr, '');
  t.strictSame(await runEntry(['--version'], {}), { stdout: `${version}\n`, stderr: '' });
});

t.test('each command has a help and a version', async (t) => {
  for (const command of COMMANDS) {
    const { stdout, stderr } = await runEntry([command, '--help'], {});
    t.match(stdout, /^(npm (run|start).*\n)+\n/, command);
    t.equal(stderr, '');
    t.strictSame(await runEntry([command, '--version'], {}), { stdout: `${version}\n`, stderr: '' });
  }
});

t.test('a reader that has seen enough of the help ends it without an error', async (t) => {
  const entry = join(SOURCE, 'main.cjs');
  const { stderr } = await execute('sh', [
    '-c',
    `{ sleep 0.2; '${process.execPath}' '${entry}' --help; } | true`,
  ]);
  t.equal(stderr, '');
});

t.test('output that a full disk does not take is told, and the exit code is 1', async (t) => {
  const entry = join(SOURCE, 'main.cjs');
  const run = execute('sh', ['-c', `'${process.execPath}' '${entry}' --help >/dev/full`]);
  await t.rejects(run, { code: 1, stderr: 'Standard output cannot be written (ENOSPC).\n' });
});
