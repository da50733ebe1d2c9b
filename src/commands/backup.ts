import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readPlace, readSome } from '../config.ts';
import { markBackup } from '../storage/backup-mark.ts';
import { databasePath } from '../storage/open-storage.ts';
import { backUp } from '../storage/sqlite/backup.ts';
import { errorCode } from '../system-errors.ts';
import { type Command, WrongArguments } from './command.ts';
import { untilSignal } from './until-signal.ts';

const HELP = `npm run backup -- <file>

Copies the SQLite database that the settings name into a new file, while the service runs or not. Everything that was
stored before is in it. The file is there when all of it is on the disk, and only its owner can read it: it holds the
names of feeds. "npm run restore" puts it back. The time of the last backup is that of the file .backup-done in DATA_DIR.
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
    if (place.storage !== 'sqlite') throw new Error(ALTERNATIVES[place.storage]);
    await backUp(databasePath(place), target, untilSignal());
    try {
      markBackup(place.dataDir);
    } catch (error) {
      const code = errorCode(error);
      process.stderr.write(
        `The date of this backup cannot be kept for the metrics, in DATA_DIR (${code}).\n`,
      );
    }
    if (readSome(env, ['images']).images !== 'db')
      process.stdout.write(
        'Pictures are in the image store (SERVICE_IMAGES), which is not in it: copy that by itself, after this.\n',
      );
    process.stdout.write(`The backup is in ${resolve(target)} (${statSync(target).size} bytes).\n`);
    return 0;
  },
};
