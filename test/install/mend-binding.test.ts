/** install/mend-binding.cjs on copies of the binding, and what the service says of one that is not mended. */
import {
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import t from 'tap';
import { keepsHeaderValues } from '../../src/http/uws.ts';
import { BINARY, brokenBinding } from '../support/broken-binding.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const { mend } = createRequire(import.meta.url)('../../install/mend-binding.cjs') as {
  mend(path: string): string;
};

/** A new file of these bytes, in a folder of its own. */
async function fileOf(t: { teardown(fn: () => unknown): void }, bytes: Uint8Array): Promise<string> {
  const path = join(await tempDir(t), 'binding.node');
  writeFileSync(path, bytes, { mode: 0o640 });
  return path;
}

t.test('the known binding is mended by a new file in its place', async (t) => {
  const broken = brokenBinding();
  const path = await fileOf(t, broken);
  linkSync(path, `${path}.linked`);
  t.equal(mend(path), 'mended');
  const mended = readFileSync(path);
  const changed = [...mended.keys()].filter((at) => mended[at] !== broken[at]);
  t.strictSame(changed, [0xf2522, 0xf253c]);
  t.equal(mended.length, broken.length);
  t.equal(statSync(path).mode & 0o777, 0o640);
  t.ok(readFileSync(`${path}.linked`).equals(broken), 'what others hold stays as it was');
  t.same(readdirSync(dirname(path)).length, 2, 'nothing else is left');

  const { ino, mtimeMs } = statSync(path);
  t.equal(mend(path), 'mended before');
  t.match(statSync(path), { ino, mtimeMs });
});

t.test('an unknown binding is left alone', async (t) => {
  const unknown = brokenBinding();
  unknown[0] = 0;
  for (const bytes of [unknown, unknown.subarray(0, 1000), Buffer.alloc(0)]) {
    const path = await fileOf(t, bytes);
    const { ino, mtimeMs } = statSync(path);
    t.equal(mend(path), 'unknown');
    t.match(statSync(path), { ino, mtimeMs });
    t.ok(readFileSync(path).equals(bytes));
  }
  t.equal(mend(join(await tempDir(t), 'none.node')), 'absent');
});

/** A copy of the service with a binding of its own; all other packages are those of this one. */
async function copyOfService(t: { teardown(fn: () => unknown): void }, binding: Uint8Array): Promise<string> {
  const dir = await tempDir(t);
  for (const name of ['package.json', 'src', 'workers'])
    cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  const packages = join(dir, 'node_modules');
  mkdirSync(packages);
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== 'uWebSockets.js') symlinkSync(join(ROOT, 'node_modules', name), join(packages, name));
  cpSync(join(ROOT, 'node_modules/uWebSockets.js'), join(packages, 'uWebSockets.js'), {
    recursive: true,
    filter: (path) => !path.endsWith('.node'),
  });
  writeFileSync(join(packages, 'uWebSockets.js/dist/bin/uws_linux_x64_127.node'), binding);
  return join(dir, 'src/main.cjs');
}

const skip =
  process.platform === 'linux' && process.arch === 'x64' && process.versions.modules === '127'
    ? false
    : 'the binding that is mended does not run here';

t.test('the service warns of a binding that loses letters, and of no other', { skip }, async (t) => {
  for (const [binding, title, warnings] of [
    [brokenBinding(), 'caf', 1],
    [readFileSync(BINARY), 'café', 0],
  ] as const) {
    const main = await copyOfService(t, binding);
    const service = await ServiceProcess.start(t, { main, env: { PUID: '0', SERVICE_LOG_LEVEL: 'debug' } });
    const client = new FeedClient(service.url, 'heron');
    await client.post('x', { 'x-note-title': Buffer.from('café').toString('latin1') });
    t.equal((await client.list()).json.notes[0].title, title);
    const found = () => service.lines.filter(({ msg }) => /header values/.test(String(msg)));
    if (warnings > 0) t.ok(await eventually(() => found().length > 0));
    await service.kill('SIGTERM');
    t.match(found(), Array(warnings).fill({ level: 'warn', msg: /drops letters/ }));
    t.equal(found().length, warnings);
  }
});

t.test('the binding that runs here is sound', async (t) => {
  t.equal(await keepsHeaderValues(), true);
});
