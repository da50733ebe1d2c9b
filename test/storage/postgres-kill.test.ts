import t from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import { PostgresServer } from '../support/postgres.ts';
import { isWhole, listedAreWhole, postAndKill } from './kills.ts';
import { opened } from './postgres-support.ts';

const KILLS = 5;

t.setTimeout(120_000);

t.test('no kill loses an acknowledged note, or leaves a part of a request', async (t) => {
  const server = await PostgresServer.start(t);
  const url = await server.database();
  const lines = await postAndKill(url, 'postgres', KILLS);
  const storage = await opened(t, url);
  const lost = [];
  for (const line of lines) if (!(await isWhole(storage, line))) lost.push(line);
  t.same(lost, []);
  t.ok(lines.length > KILLS, `${lines.length} notes were acknowledged`);
  const feeds = new Set(lines.map((line) => line.split(' ')[0] as FeedName));
  for (const feed of feeds)
    if (!(await listedAreWhole(storage, feed))) t.fail('a part of a request is listed');
});
