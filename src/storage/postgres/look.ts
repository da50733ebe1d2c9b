import { connect } from './connection-options.ts';
import { asStartFailure, UnusableDatabase } from './failures.ts';
import { refuseUnfinishedMove } from './move-lock.ts';
import { readVersion } from './schema.ts';

/** Says what is in a database, without changing it. Throws an error with a sentence for the operator if no service could start on it. */
export async function lookAtDatabase(url: string): Promise<string> {
  try {
    const client = await connect(url);
    try {
      await refuseUnfinishedMove(client);
      const version = await readVersion(client);
      const { rows } = await client.query<{ read_only: string; creates: boolean }>(
        `SELECT current_setting('transaction_read_only') AS read_only,
           has_schema_privilege(current_schema(), 'CREATE') AS creates`,
      );
      if (rows[0]?.read_only === 'on')
        throw new UnusableDatabase('The database named by SERVICE_DATABASE_URL can only be read.');
      if (version === undefined && rows[0]?.creates !== true)
        throw new UnusableDatabase('The user of SERVICE_DATABASE_URL may not make tables there.');
      return version === undefined ? 'the database is empty' : `a database (schema ${version})`;
    } finally {
      await client.end();
    }
  } catch (error) {
    throw asStartFailure(error);
  }
}
