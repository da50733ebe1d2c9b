import { randomBytes } from 'node:crypto';
import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { PostgresServer } from '../support/postgres.ts';
import { ask, post, start } from '../support/service.ts';

/** More than the row of a note holds: the server keeps such a text in a file of its own. */
const LONG_BYTES = 20_000;
const ROUNDS = 20;

t.test('a damaged note fails alone, also when others are read together with it', async (t) => {
  const server = await PostgresServer.start(t);
  const database = await server.database();
  const settings = {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: database,
    SERVICE_SECRET: 'a secret of tests that is long enough',
    SERVICE_SEARCH: '0',
  };
  const service = await start(t, settings);
  const notesOf = async (feed: string, text: string) => {
    const { json } = await post(`${service.url}/${feed}`, text);
    return `/api/v1/read/${json.read_url.split('/').at(-2)}/notes`;
  };
  const damaged = await notesOf('damaged', randomBytes(LONG_BYTES / 2).toString('hex'));
  const sound = await notesOf('sound', 'short');
  await service.stop();
  await loseLongTexts(server, database);
  const { url } = await service.restart();
  for (let round = 0; round < ROUNDS; round += 1) {
    const replies = await Promise.all([damaged, sound, damaged, sound].map((path) => ask(url + path)));
    t.strictSame(
      replies.map(({ status }) => status),
      [503, 200, 503, 200],
    );
  }
});

/** Overwrites the file of the long texts, and of nothing else, with zeros. */
async function loseLongTexts(server: PostgresServer, database: string): Promise<void> {
  const [row] = await server.sql(
    database,
    `SELECT current_setting('data_directory') AS dir, pg_relation_filepath(reltoastrelid) AS file FROM pg_class
     WHERE relname = 'notes'`,
  );
  const path = join(String(row!.dir), String(row!.file));
  await server.stop();
  const { size } = await stat(path);
  await truncate(path, 0);
  await truncate(path, size);
  await server.start();
}
