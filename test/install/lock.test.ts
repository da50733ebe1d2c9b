/** `npm ci` on an older Node, which only installs, warns of nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const read = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, '../..', name), 'utf8'));

t.test('no package in the lock asks for a Node (`npm run lock` makes it so)', async (t) => {
  const packages: Record<string, { engines?: unknown }> = read('package-lock.json').packages;
  t.same(
    Object.keys(packages).filter((path) => path !== '' && packages[path]?.engines !== undefined),
    [],
  );
  t.same(packages['']?.engines, { node: '>=20' });
});
