/** Dependencies point one way (the map in src/README.md). */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import t from 'tap';

const root = resolve(import.meta.dirname, '..');

/** Which rooms each room may import from at run time; imports of types only are free. */
const ALLOWED: Record<string, readonly string[]> = {
  feeds: ['refusals.ts'],
  licenses: ['refusals.ts'],
  http: ['copy-bytes.ts', 'refusals.ts'],
  telemetry: ['access', 'feeds', 'version.ts'],
  access: ['feeds', 'refusals.ts'],
  'sign-in': ['access', 'feeds'],
  requests: ['config.ts', 'copy-bytes.ts', 'feeds', 'ingest', 'refusals.ts', 'storage'],
  commands: [
    'system-errors.ts',
    'config.ts',
    'feeds',
    'images',
    'licenses',
    'moving',
    'privileges.ts',
    'refusals.ts',
    'setting-kinds.ts',
    'setting.ts',
    'storage',
    'telemetry',
    'version.ts',
  ],
  moving: ['data-folder.ts', 'feeds', 'licenses', 'refusals.ts', 'storage'],
  storage: [
    'batcher.ts',
    'system-errors.ts',
    'collect-garbage.ts',
    'data-folder.ts',
    'feeds',
    'licenses',
    'refusals.ts',
    'workers',
  ],
  ingest: [
    'access',
    'feeds',
    'keyed-limit.ts',
    'refusals.ts',
    'config.ts',
    'workers',
    'worker-pool.ts',
    'storage',
  ],
  read: ['feeds', 'keyed-limit.ts', 'refusals.ts', 'http', 'storage', 'web', 'worker-pool.ts'],
  images: ['system-errors.ts', 'feeds', 'refusals.ts', 'storage'],
  live: ['batcher.ts', 'feeds', 'http', 'read', 'refusals.ts'],
  web: ['http', 'feeds'],
  oauth: ['access', 'feeds', 'refusals.ts'],
  assistants: [
    'access',
    'feeds',
    'http',
    'ingest',
    'read',
    'refusals.ts',
    'requests',
    'storage',
    'version.ts',
  ],
  routes: [
    'access',
    'assistants',
    'config.ts',
    'feeds',
    'http',
    'images',
    'ingest',
    'live',
    'oauth',
    'read',
    'refusals.ts',
    'requests',
    'setting-kinds.ts',
    'sign-in',
    'version.ts',
    'web',
  ],
  workers: [
    'background.ts',
    'batcher.ts',
    'collect-garbage.ts',
    'task-limit.ts',
    'feeds',
    'licenses',
    'read',
    'storage',
  ],
};

/** The first folder below src, `workers`, or the file itself. */
function roomOf(path: string): string {
  const [top = '', second = ''] = relative(root, path).split('/');
  return top === 'src' ? second : top;
}

function importsOf(path: string): string[] {
  const source = readFileSync(path, 'utf8');
  const statements = source.matchAll(/^(?:import|export)\s+(?!type\b)([^;]*?)from\s+'(\.[^']*)'/gm);
  return [...statements]
    .filter(([, names = '']) => !/^\{\s*(?:type [^,}]*,?\s*)+\}\s*$/.test(names))
    .map(([, , target = '']) => resolve(dirname(path), target));
}

for (const [room, allowed] of Object.entries(ALLOWED)) {
  const folder = room === 'workers' ? join(root, 'workers') : join(root, 'src', room);
  t.test(`${room} imports only what it may`, async (t) => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    t.ok(files.length > 0);
    for (const file of files)
      for (const target of importsOf(join(folder, file))) {
        const other = roomOf(target);
        t.ok(other === room || allowed.includes(other), `${file} imports ${relative(root, target)}`);
      }
  });
}

t.test('tests know where programs are from one file, which can hide them', async (t) => {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => /\.(ts|mjs)$/.test(name) && name !== 'support/installed.ts'))
    t.notMatch(readFileSync(join(root, 'test', file), 'utf8'), /'\/usr\/s?bin\/(?!node')/, file);
});

t.test('only the service and its test know the table of operations', async (t) => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.startsWith('routes/')))
    if (importsOf(join(root, 'src', file)).some((target) => roomOf(target) === 'routes'))
      t.equal(file, 'service.ts');
});
