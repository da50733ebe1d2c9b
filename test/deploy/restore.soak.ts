/** The commands of docs/backups.md restore an instance with pictures in the stores that `restore.test.ts` leaves out. */
import t from 'tap';
import { obstacle, type Pictures, rehearse, type Storage } from './rehearse.ts';

t.setTimeout(600_000);

const POSTS = 40;
const PLACES: readonly (readonly [Storage, readonly Pictures[]])[] = [
  ['restic', ['db']],
  ['sqlite', ['db', 's3']],
  ['postgres', ['fs', 's3']],
];

for (const [storage, stores] of PLACES)
  for (const pictures of stores)
    t.test(`${storage}, pictures in ${pictures}`, { skip: obstacle(storage, pictures) }, (t) =>
      rehearse(t, storage, pictures, POSTS),
    );
