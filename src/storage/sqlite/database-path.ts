import { join } from 'node:path';
import type { Config } from '../../config.ts';

/** What the database is called in DATA_DIR unless SERVICE_DATABASE_URL says where it is. */
const DATABASE_FILE = 'notefeed.db';

/** Where the settings have the database file. */
export function databasePath({ database, dataDir }: Pick<Config, 'database' | 'dataDir'>): string {
  return database?.kind === 'file' ? database.path : join(dataDir, DATABASE_FILE);
}
