/** The specification and the contract are kept in two places; where the other one is at hand, both are the same. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..');
const TWINS = { 'docs/specification.md': '../shared/spec.md', 'docs/contract.md': '../shared/contract.md' };

for (const [own, other] of Object.entries(TWINS)) {
  const twin = join(root, other);
  const skip = existsSync(twin) ? false : `${other} is not there`;
  t.test(`${own} is the same as its twin`, { skip }, async (t) => {
    t.equal(readFileSync(join(root, own), 'utf8'), readFileSync(twin, 'utf8'));
  });
}
