/** The documents name every setting, and their links and the files that they name are there. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const DOCUMENTS = globSync(['*.md', 'src/*.md', 'docs/*.md'], { cwd: root });

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
  for (const file of DOCUMENTS)
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

/** A path in the project, with `*` for any part of a name, or a document. */
const OWN_FILE = /^(?:(?:\.ci|bench|deploy|docs|install|src|test|workers)\/[\w./*-]+|(?!\d)[\w-]+\.md)$/;
/** Made by whoever deploys. */
const MADE = /^deploy\/secrets|^note\.md$/;

t.test('the files that the documents name are there', async (t) => {
  for (const file of DOCUMENTS)
    for (const [, span = ''] of read(file).matchAll(/`(?:node )?([^`\s]+)/g)) {
      if (!OWN_FILE.test(span) || MADE.test(span)) continue;
      const found = [root, join(root, dirname(file)), join(root, 'src')].some(
        (folder) => globSync(span, { cwd: folder }).length > 0,
      );
      t.ok(found, `${file}: ${span}`);
    }
});

t.test('the version has a section with a date in CHANGELOG.md', async (t) => {
  const { version } = JSON.parse(read('package.json'));
  t.match(read('CHANGELOG.md'), new RegExp(`^## \\[${version}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm'));
});
