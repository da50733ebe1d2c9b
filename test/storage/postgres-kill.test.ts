import t from 'tap';
import { times } from '../support/effort.ts';
import { PostgresServer } from '../support/postgres.ts';
import { nothingIsLost, postAndKill } from './kills.ts';
import { opened } from './postgres-support.ts';

const KILLS = times(2, 5);

t.setTimeout(600_000);

t.test('no kill loses an acknowledged note, or leaves a part of a request', async (t) => {
  const server = await PostgresServer.start(t);
  const url = await server.database();
  const lines = await postAndKill(url, 'postgres', KILLS);
  const storage = await opened(t, url);
  await nothingIsLost(t, storage, lines, KILLS);
});
