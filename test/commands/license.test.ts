/** `npm run license`: keys and licenses of whoever sells them. */
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { newKeyPair, parsePublicKeys } from '../../src/licenses/keys.ts';
import { Licenses } from '../../src/licenses/licenses.ts';
import { tempDir } from '../support/service.ts';
import { CANNOT_MOUNT, smallDisk } from '../support/small-disk.ts';

t.setTimeout(600_000);

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;
const dir = await tempDir(t);

function run(args: readonly string[], env: Record<string, string> = {}, input = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'license', ...args], {
    cwd: dir,
    env: { PATH: process.env.PATH ?? '', ...env },
    input,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

t.test('keys are made, licenses issued and checked', async (t) => {
  const made = run(['keygen']);
  t.match(made, { status: 0, stdout: /^[\w-]{43}\n$/ });
  const file = join(dir, 'license-key.pem');
  t.equal(statSync(file).mode & 0o777, 0o600);
  const pem = readFileSync(file, 'utf8');
  t.match(run(['keygen']), { status: 1, stdout: '', stderr: /is there already/ });
  t.equal(readFileSync(file, 'utf8'), pem);

  const env = { SERVICE_LICENSE_PUBLIC_KEY: made.stdout.trim() };
  const issued = run(['issue', '--until', '9998-12-31', '--feeds', '3', '--count', '10']);
  const all = issued.stdout.trim().split('\n');
  t.equal(all.length, 10);
  const licenses = new Licenses(parsePublicKeys(env.SERVICE_LICENSE_PUBLIC_KEY)!);
  t.equal(new Set(all.map((text) => licenses.check(text).id)).size, 10);
  const [license] = all as [string];
  t.match(licenses.check(license), { until: '9998-12-31', feeds: 3 });

  const said = /counts.*until the end of: 9998-12-31.*feeds: 3/s;
  t.match(run(['check', license], env), { status: 0, stdout: said });
  t.match(run(['check', '-'], env, `${license}\n`), { status: 0, stdout: said });
  t.match(run(['check', license]), { status: 1, stderr: /SERVICE_LICENSE_PUBLIC_KEY must be set/ });
  const other = { SERVICE_LICENSE_PUBLIC_KEY: newKeyPair().publicKey };
  t.match(run(['check', license], other), { status: 1, stderr: /not signed by the issuer/ });
});

t.test('what is wrong is said, and no key is shown', async (t) => {
  const until = ['--until', '9998-12-31'];
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  writeFileSync(join(dir, 'open.pem'), newKeyPair().privateKey);
  chmodSync(join(dir, 'open.pem'), 0o640);
  writeFileSync(join(dir, 'none.pem'), 'x', { mode: 0o600 });
  for (const [args, stderr] of [
    [['issue', ...until, '--key', 'open.pem'], /must be readable by its owner only/],
    [['issue', ...until, '--key', 'none.pem'], /holds no Ed25519 private key/],
    [['issue', ...until, '--key', 'absent.pem'], /cannot be read \(ENOENT\)/],
    [['issue', '--until', '2027-02-30'], /no date/],
    [['issue', '--until', yesterday], /^--until must not be in the past\.\n$/],
    [['issue', ...until, '--feeds', '1001'], /from 1 to 1000/],
    [['issue', ...until, '--count', '0'], /from 1 to 10000/],
    [['issue'], /takes no arguments but/],
    [['issue', ...until, '--private', 'x'], /takes no arguments but/],
    [['check'], /takes no arguments but/],
    [['x'], /takes no arguments but/],
  ] as const) {
    const done = run(args);
    t.match(done, { status: 1, stdout: '', stderr }, args.join(' '));
    t.notMatch(done.stderr, 'PRIVATE KEY');
  }
  t.match(run(['--help']), { status: 0, stdout: /npm run license -- keygen/ });
});

t.test('a full disk leaves no key, so that one can be made later', { skip: CANNOT_MOUNT }, async (t) => {
  const disk = await smallDisk(t, '64k');
  const [key, rest] = [join(disk, 'key.pem'), join(disk, 'rest')];
  t.throws(() => writeFileSync(rest, Buffer.alloc(100_000)), { code: 'ENOSPC' });
  t.match(run(['keygen', '--key', key]), { status: 1, stderr: `${key} cannot be written (ENOSPC).\n` });
  rmSync(rest);
  t.match(run(['keygen', '--key', key]), { status: 0 });
});
