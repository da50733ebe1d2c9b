/** The commands of docs/backups.md restore an instance on each storage; restore.soak.ts has all image stores. */
import t from 'tap';
import { obstacle, rehearse } from './rehearse.ts';

t.setTimeout(600_000);

const POSTS = 40;

for (const [storage, pictures] of [
  ['fs', 'db'],
  ['sqlite', 'fs'],
  ['postgres', 'db'],
] as const)
  t.test(`${storage}, pictures in ${pictures}`, { skip: obstacle(storage, pictures) }, (t) =>
    rehearse(t, storage, pictures, POSTS),
  );
