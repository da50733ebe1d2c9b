/** Dependencies point one way (the map in src/README.md). */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import t from 'tap';

const root = resolve(import.meta.dirname, '..');

/** What each room may import, types included, from the ground up. */
const ALLOWED: Record<string, readonly string[]> = {
  feeds: ['refusals.ts'],
  licenses: ['refusals.ts'],
  search: ['refusals.ts'],
  http: ['in-turns.ts', 'refusals.ts'],
  telemetry: ['feeds', 'http', 'signed.ts', 'version.ts'],
  writing: ['feeds', 'licenses', 'refusals.ts'],
  storage: [
    'config.ts',
    'cpu-time.ts',
    'database-hosts.ts',
    'feeds',
    'licenses',
    'privileges.ts',
    'refusals.ts',
    'search',
    'system-errors.ts',
    'telemetry',
    'writing',
  ],
  moving: ['feeds', 'privileges.ts', 'storage', 'telemetry'],
  images: ['config.ts', 'feeds', 'privileges.ts', 'refusals.ts', 'storage', 'system-errors.ts', 'writing'],
  access: ['feeds', 'refusals.ts', 'signed.ts', 'storage', 'telemetry', 'worker-pool.ts', 'writing'],
  'sign-in': ['access', 'config.ts', 'feeds', 'signed.ts', 'telemetry'],
  oauth: ['access', 'feeds', 'refusals.ts', 'signed.ts', 'storage'],
  ingest: [
    'access',
    'config.ts',
    'feeds',
    'licenses',
    'refusals.ts',
    'schemas.ts',
    'storage',
    'task-limit.ts',
    'telemetry',
    'worker-pool.ts',
    'writing',
  ],
  requests: ['feeds', 'http', 'ingest', 'refusals.ts', 'schemas.ts', 'writing'],
  hooks: ['feeds', 'refusals.ts', 'requests', 'signed.ts', 'worker-pool.ts'],
  web: ['config.ts', 'feeds', 'http', 'licenses', 'refusals.ts', 'search', 'sign-in'],
  read: [
    'access',
    'cpu-time.ts',
    'feeds',
    'http',
    'in-turns.ts',
    'licenses',
    'refusals.ts',
    'schemas.ts',
    'search',
    'storage',
    'web',
    'worker-pool.ts',
    'writing',
  ],
  websub: ['feeds', 'post-target.ts', 'storage', 'telemetry'],
  cdn: ['feeds', 'post-target.ts', 'storage', 'telemetry'],
  live: ['access', 'feeds', 'http', 'in-turns.ts', 'read', 'refusals.ts', 'schemas.ts', 'storage'],
  assistants: [
    'access',
    'feeds',
    'http',
    'ingest',
    'read',
    'refusals.ts',
    'requests',
    'schemas.ts',
    'search',
    'telemetry',
    'version.ts',
    'writing',
  ],
  routes: [
    'access',
    'assistants',
    'feeds',
    'hooks',
    'http',
    'images',
    'ingest',
    'live',
    'oauth',
    'once.ts',
    'read',
    'refusals.ts',
    'requests',
    'schemas.ts',
    'search',
    'setting-kinds.ts',
    'setting.ts',
    'sign-in',
    'telemetry',
    'version.ts',
    'web',
    'writing',
  ],
  processes: ['config.ts', 'feeds', 'http', 'telemetry'],
  commands: [
    'config.ts',
    'feeds',
    'images',
    'licenses',
    'moving',
    'privileges.ts',
    'refusals.ts',
    'schemas.ts',
    'setting-kinds.ts',
    'setting.ts',
    'storage',
    'system-errors.ts',
    'telemetry',
  ],
  workers: [
    'access',
    'cpu-time.ts',
    'feeds',
    'hooks',
    'http',
    'licenses',
    'read',
    'refusals.ts',
    'requests',
    'search',
    'storage',
    'system-errors.ts',
    'task-limit.ts',
    'writing',
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

/** A way through the graph that ends where it began; none if there is no such way. */
function circleIn(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const search = (node: string, way: readonly string[]): readonly string[] => {
    if (way.includes(node)) return [...way.slice(way.indexOf(node)), node];
    if (done.has(node)) return [];
    done.add(node);
    const ways = (graph.get(node) ?? []).map((next) => search(next, [...way, node]));
    return ways.find(({ length }) => length > 0) ?? [];
  };
  return [...graph.keys()].map((node) => search(node, [])).find(({ length }) => length > 0) ?? [];
}

const sources = ['src', 'workers', 'bench'].flatMap(filesIn);

t.test('no files import each other in a circle, and no rooms', async (t) => {
  t.same(circleIn(new Map(sources.map((file) => [file, importsOf(file)]))), []);
  const rooms = [...Map.groupBy(sources, roomOf)].map(([room, files]) => {
    const others = new Set(files.flatMap(importsOf).map(roomOf));
    return [room, [...others].filter((other) => other !== room)] as const;
  });
  t.same(circleIn(new Map(rooms)), []);
});

for (const [room, allowed] of Object.entries(ALLOWED)) {
  t.test(`${room} imports only what it may`, async (t) => {
    const files = sources.filter((file) => roomOf(file) === room);
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

t.test('tests know where programs are from one file, which can hide them', async (t) => {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => /\.(ts|mjs)$/.test(name) && name !== 'support/installed.ts'))
    t.notMatch(readFileSync(join(root, 'test', file), 'utf8'), /'\/usr\/s?bin\/(?!node')/, file);
});

t.test('only the service and its test know the table of operations', async (t) => {
  for (const file of sources.filter((file) => roomOf(file) !== 'routes'))
    if (importsOf(file).some((target) => roomOf(target) === 'routes'))
      t.equal(relative(root, file), 'src/service.ts');
});
