/** The documents name every setting, their links lead somewhere, and the copies of specification and contract are the same. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const TWINS = { 'docs/specification.md': '../shared/spec.md', 'docs/contract.md': '../shared/contract.md' };
for (const [own, other] of Object.entries(TWINS)) {
  const skip = existsSync(join(root, other)) ? false : `${other} is not there`;
  t.test(`${own} is the same as its twin`, { skip }, async (t) => {
    t.equal(read(own), read(other));
  });
}

t.test('docs/settings.md has every setting', async (t) => {
  const page = read('docs/settings.md').replace(/`_([A-Z_]+)`/g, '`SERVICE_OIDC_$1`');
  const names = [...read('src/config.ts').matchAll(/'((?:SERVICE_|PUBLIC_)[A-Z0-9_]+)'/g)].map(
    ([, name]) => name,
  );
  for (const name of new Set(names)) t.ok(page.includes(`\`${name}\``), `${name}`);
});

/** The anchor that a heading gets where such documents are shown. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, '');

t.test('links between the documents lead somewhere', async (t) => {
  const files = globSync(['*.md', 'src/*.md', 'docs/*.md'], { cwd: root });
  for (const file of files.filter((file) => !Object.keys(TWINS).includes(file)))
    for (const [, target = ''] of withoutCode(read(file)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const linked = path === '' ? file : join(dirname(file), path);
      t.ok(existsSync(join(root, linked)), `${file}: ${target}`);
      if (anchor === undefined || !existsSync(join(root, linked))) continue;
      const anchors = [...read(linked).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));
      t.ok(anchors.includes(anchor), `${file}: ${target}`);
    }
});
