/** The commands of docs/backups.md restore an instance on each storage, with pictures in each image store. */
import t from 'tap';
import { obstacle, type Pictures, rehearse, type Storage } from './rehearse.ts';

t.setTimeout(600_000);

const POSTS = 100;
const PLACES: readonly (readonly [Storage, readonly Pictures[]])[] = [
  ['fs', ['db']],
  ['restic', ['db']],
  ['sqlite', ['db', 'fs', 's3']],
  ['postgres', ['db', 'fs', 's3']],
];

for (const [storage, stores] of PLACES)
  for (const pictures of stores)
    t.test(`${storage}, pictures in ${pictures}`, { skip: obstacle(storage, pictures) }, (t) =>
      rehearse(t, storage, pictures, POSTS),
    );
