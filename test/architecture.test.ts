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

/** The files of the project that a file names in an import, types and imports at run time included. */
function importsOf(path: string): string[] {
  const named = readFileSync(path, 'utf8').matchAll(
    /(?:^(?:import|export)\s[^;']*?from|\bimport\()\s*'(\.[^']*)'/gm,
  );
  return [...named].map(([, target = '']) => resolve(dirname(path), target));
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|cjs)$/.test(name))
    .map((name) => join(root, folder, name));
}

for (const [room, allowed] of Object.entries(ALLOWED)) {
  t.test(`${room} imports only what it may`, async (t) => {
    const files = filesIn(room === 'workers' ? room : join('src', room));
    t.ok(files.length > 0);
    for (const file of files)
      for (const target of importsOf(file)) {
        const other = roomOf(target);
        t.ok(
          other === room || allowed.includes(other),
          `${relative(root, file)} imports ${relative(root, target)}`,
        );
      }
  });
}

t.test('no files import each other in a circle', async (t) => {
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): void => {
    const circle = way.includes(file) ? [...way.slice(way.indexOf(file)), file] : [];
    t.same(
      circle.map((one) => relative(root, one)),
      [],
    );
    if (circle.length > 0 || done.has(file)) return;
    for (const target of importsOf(file)) visit(target, [...way, file]);
    done.add(file);
  };
  for (const file of ['src', 'workers', 'bench'].flatMap(filesIn)) visit(file, []);
});

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
