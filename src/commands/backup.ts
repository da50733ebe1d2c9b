import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readPlace, readSome } from '../config.ts';
import { databasePath } from '../storage/open-storage.ts';
import { backUp } from '../storage/sqlite/backup.ts';
import { type Command, WrongArguments } from './command.ts';

const HELP = `npm run backup -- <file>

Copies the SQLite database that the settings name into a new file, while the service runs or not. Everything that was
stored before is in it. The file is there when all of it is on the disk, and only its owner can read it: it holds the
names of feeds. To restore it, stop the service and put the file where the database is. What is left of the database that was
there, in files with -wal and -shm at the end, is removed at the start.
`;

/** What to do instead on other backends. */
const ALTERNATIVES = {
  fs: 'Notes are plain files here (SERVICE_STORAGE is fs): copy the folder DATA_DIR with all dot files in it, as "cp -a" does.',
  postgres:
    'Notes are in PostgreSQL here (SERVICE_STORAGE is postgres): back them up with its own "pg_dump".',
};

/** Copies the database while the service runs. */
export const command: Command = {
  help: HELP,
  words: [1, 1],
  async run([target], _options, env) {
    if (!target || target.startsWith('-')) throw new WrongArguments();
    const place = readPlace(env);
    if (place.storage !== 'sqlite') {
      process.stderr.write(`${ALTERNATIVES[place.storage]}\n`);
      return 1;
    }
    let isAsked = true;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        isAsked = false;
      });
    }
    await backUp(databasePath(place), target, () => isAsked);
    if (readSome(env, ['images']).images !== 'db')
      process.stdout.write(
        'Pictures are in the image store (SERVICE_IMAGES), which is not in it: copy that by itself, after this.\n',
      );
    process.stdout.write(`The backup is in ${resolve(target)} (${statSync(target).size} bytes).\n`);
    return 0;
  },
};
