import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { Clearing } from '../../src/storage/postgres/clearing.ts';
import { Database } from '../../src/storage/postgres/database.ts';
import { migrate } from '../../src/storage/postgres/schema.ts';
import { PostgresServer } from '../support/postgres.ts';

t.test('a feed that is deleted while the last step ends is cleared away too', async (t) => {
  const over = Promise.withResolvers<void>();
  let steps = 0;
  // The moment between the look for deleted feeds and its end is too short to be met in a database.
  const transaction = async () => {
    steps += 1;
    await nextTurn();
    if (steps === 1) clearing.wake();
    else over.resolve();
    return false as never;
  };
  const clearing = new Clearing({ transaction });
  clearing.wake();
  await over.promise;
  await clearing.stop();
  t.equal(steps, 2);
});

t.test('a step removes about 16 MiB, because a statement may not take long', async (t) => {
  const server = await PostgresServer.start(t);
  const url = await server.database();
  await migrate(url);
  const [feed] = await server.sql(
    url,
    "INSERT INTO feeds (read_id, changed_at, to_clear) VALUES ('gone', 0, true) RETURNING id",
  );
  await server.sql(
    url,
    `INSERT INTO notes (feed, id, type, created_at, modified_at, size, content)
     SELECT $1, 'note-' || n, 1, n, n, 1 << 20, convert_to(repeat('x', 1 << 20), 'UTF8') FROM generate_series(1, 40) AS n`,
    [feed!.id],
  );
  await server.sql(
    url,
    "INSERT INTO tags (feed, tag, created_at, id, type) SELECT feed, 'tag', created_at, id, type FROM notes",
  );
  const database = new Database(url);
  t.teardown(() => database.close());
  const count = async () => Number((await server.sql(url, 'SELECT count(*) FROM notes'))[0]!.count);
  const left = [await count()];
  const over = Promise.withResolvers<void>();
  const clearing = new Clearing({
    transaction: async (work) => {
      const isAny = await database.transaction(work).catch((error) => {
        over.reject(error);
        throw error;
      });
      left.push(await count());
      if (!isAny) over.resolve();
      return isAny;
    },
  });
  clearing.wake();
  await over.promise;
  await clearing.stop();
  t.same([...new Set(left)], [40, 24, 8, 0]);
  t.same(await server.sql(url, 'SELECT FROM tags'), []);
});
