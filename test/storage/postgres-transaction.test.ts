import t from 'tap';
import { Database } from '../../src/storage/postgres/database.ts';
import { statement } from '../../src/storage/postgres/transaction.ts';
import { PostgresServer } from '../support/postgres.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);
const url = await server.database();
await server.sql(url, 'CREATE TABLE things (id integer PRIMARY KEY)');
const database = new Database(url);
t.teardown(() => database.close());

const ADD = statement('add_thing')`INSERT INTO things VALUES ($1)`;
const THINGS = statement<{ id: number }>('things')`SELECT id FROM things ORDER BY id`;

const things = async () => (await database.read(THINGS, [])).map(({ id }) => id);

t.test('what is sent without waiting is committed with the rest', async (t) => {
  const found = await database.transaction(async (transaction) => {
    transaction.send(ADD, [1]);
    const rows = await transaction.run(THINGS, []);
    transaction.send(ADD, [2]);
    return rows;
  });
  t.same(found, [{ id: 1 }]);
  t.same(await things(), [1, 2]);
});

t.test(
  'a statement that fails unheard takes everything back, and its failure is the one thrown',
  async (t) => {
    const work = database.transaction(async (transaction) => {
      for (const id of [3, 1, 4]) transaction.send(ADD, [id]);
    });
    await t.rejects(work, { message: 'PostgreSQL: 23505', code: '23505' });
    t.same(await things(), [1, 2]);
  },
);

t.test('a statement that cannot even be sent takes everything back too', async (t) => {
  const other = statement('add_other_thing')`INSERT INTO things VALUES ($1)`;
  const circular: Record<string, unknown> = {};
  circular.toPostgres = () => circular;
  const work = database.transaction(async (transaction) => {
    transaction.send(ADD, [3]);
    transaction.send(other, [circular]);
    transaction.send(ADD, [4]);
  });
  await t.rejects(work, { code: 'store_unavailable' });
  t.same(await things(), [1, 2]);
});

t.test('what a work sends after it has failed is not done', async (t) => {
  const isOver = Promise.withResolvers<void>();
  let late: Promise<unknown> = Promise.resolve();
  const work = database.transaction(async (transaction) => {
    late = isOver.promise.then(() => transaction.run(ADD, [3]));
    throw new TypeError('the work failed');
  });
  await t.rejects(work, { message: 'the work failed' });
  isOver.resolve();
  await t.rejects(late, { message: 'the work failed' });
  t.same(await things(), [1, 2]);
});

t.test('a connection that was lost is used no more, and the next one works', async (t) => {
  const cut = statement('cut')`SELECT pg_terminate_backend(pg_backend_pid())`;
  const work = database.transaction(async (transaction) => {
    transaction.send(ADD, [3]);
    transaction.send(cut, []);
  });
  await t.rejects(work, { code: 'store_unavailable', cause: { code: '57P01' } });
  await database.transaction(async (transaction) => transaction.send(ADD, [5]));
  t.same(await things(), [1, 2, 5]);
});
