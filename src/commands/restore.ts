import { resolve } from 'node:path';
import { readPlace, readSome } from '../config.ts';
import { dataOwner, makeOwnedFolder, type Owner } from '../privileges.ts';
import type { Environment } from '../setting.ts';
import { databasePath } from '../storage/open-storage.ts';
import { restore } from '../storage/sqlite/restore.ts';
import { cannotBeUsed } from '../system-errors.ts';
import { type Command, WrongArguments } from './command.ts';
import { untilSignal } from './until-signal.ts';

const HELP = `npm run restore -- <file>

Puts a backup in the place of the SQLite database that the settings name, which no service may use meanwhile. The backup is
checked first and stays as it is; the database that was there is kept under another name. Started as root, it gives the
database to the owner that the service would use.
`;

/** What to do instead on other backends; docs/backups.md has the commands. */
const ALTERNATIVES = {
  fs: 'Notes are plain files here (SERVICE_STORAGE is fs): copy the backup into the place of the folder DATA_DIR, as "cp -a" does.',
  postgres:
    'Notes are in PostgreSQL here (SERVICE_STORAGE is postgres): restore into an empty database with its own "pg_restore".',
};

/** Replaces the database by a backup while no service runs. */
export const command: Command = {
  help: HELP,
  words: [1, 1],
  async run([backup], _options, env) {
    if (!backup || backup.startsWith('-')) throw new WrongArguments();
    const place = readPlace(env);
    if (place.storage !== 'sqlite') throw new Error(ALTERNATIVES[place.storage]);
    const database = resolve(databasePath(place));
    const aside = await restoreInto(place.dataDir, env, (owner) =>
      restore(backup, database, { owner, mayGoOn: untilSignal() }),
    );
    if (aside !== undefined)
      process.stdout.write(`The database that was there is kept as ${aside}, until you remove it.\n`);
    if (readSome(env, ['images']).images !== 'db')
      process.stdout.write(
        'Pictures are in the image store (SERVICE_IMAGES): restore that too, before the service starts.\n',
      );
    process.stdout.write(
      `The backup is restored as ${database}. The service needs the SERVICE_SECRET that it had.\n`,
    );
    return 0;
  },
};

/** Makes DATA_DIR as the service would if it is absent, then calls the work with the owner for files in it. */
async function restoreInto<T>(
  dataDir: string,
  env: Environment,
  work: (owner: Owner | undefined) => Promise<T>,
): Promise<T> {
  const owner = dataOwner({ ...readSome(env, ['puid', 'pgid']), dataDir });
  try {
    makeOwnedFolder(dataDir, owner);
    return await work(owner);
  } catch (error) {
    throw cannotBeUsed('The place of the database', error);
  }
}
