/** Several hosts in one URL, of which one takes writes. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Client } from 'pg';
import t from 'tap';
import { databaseName } from '../../src/storage/postgres/connection-options.ts';
import { Hosts } from '../../src/storage/postgres/hosts.ts';
import { lookAtDatabase } from '../../src/storage/postgres/look.ts';
import { MoveLock } from '../../src/storage/postgres/move-lock.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { post } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { opened } from './postgres-support.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);
const silent = createServer(() => {}).listen(0, '127.0.0.1');
await once(silent, 'listening');
t.teardown(() => silent.close());
const SILENT = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
const NOTHING = '127.0.0.1:1';

/** The URL with other hosts before its own. */
const behind = (hosts: string, url: string) => url.replace('@', `@${hosts},`);

t.test('hosts that are down, hang or only read are passed over', async (t) => {
  const url = await server.database();
  const storage = await opened(t, behind(`${NOTHING},${SILENT}`, url), { search: true });
  t.match(await post(storage, feedName('feed'), newNote('x')), { noteCount: 1 });
  t.match(await (await opened(t, url)).feed(feedName('feed')), { noteCount: 1 });
});

t.test('a connection that takes no writes is not kept', async (t) => {
  const url = await server.database();
  const storage = await opened(t, url);
  const name = new URL(url).pathname.slice(1);
  const setReadOnly = (value: string) =>
    server.sql('postgres', `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
  const posting = () => post(storage, feedName('feed'), newNote('x'));
  await setReadOnly('on');
  await server.sql('postgres', 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
    name,
  ]);
  const isReadOnly = () =>
    posting().then(
      () => false,
      ({ cause }) => cause?.code === '25006',
    );
  t.ok(await eventually(isReadOnly));
  await setReadOnly('off');
  t.ok(
    await eventually(() =>
      posting().then(
        () => true,
        () => false,
      ),
    ),
  );
});

t.test('a connection that was made before a newer timeline was seen is not used', (t) => {
  const hosts = new Hosts([]);
  hosts.learn(2);
  t.throws(() => hosts.add(new Client(), 1), /another host/);
  t.end();
});

t.test('what asks the hosts is no use of the database', async () => {
  const url = behind(NOTHING, await server.database());
  for (let i = 0; i < 10; i += 1) await (await MoveLock.take(url)).release();
});

t.test('why no host is used is said without naming it', async (t) => {
  const url = await server.database();
  const readOnly = await server.database();
  const name = new URL(readOnly).pathname.slice(1);
  await server.sql('postgres', `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  const cases: [url: string, why: string][] = [
    ['postgres://me:hush@127.0.0.1:1,127.0.0.1:1/notes', 'ECONNREFUSED: nothing listens there'],
    [behind(`127.0.0.1:${server.port}`, `${url}x`), '3D000: no such database'],
    [behind(NOTHING, readOnly), 'no host takes writes: ECONNREFUSED, only reads'],
    [behind(`${NOTHING},${SILENT}`, `${url}x`), 'no host takes writes: ECONNREFUSED, no answer, 3D000'],
  ];
  for (const [hosts, why] of cases)
    await t.rejects(lookAtDatabase(hosts), {
      message: `The database named by SERVICE_DATABASE_URL cannot be used (${why}).`,
    });
});

t.test('a database is known by all its hosts', async (t) => {
  t.same(databaseName('postgres://u:p@a,[::1]:5433/notes?sslmode=disable'), {
    hosts: [
      { host: 'a', port: 5432 },
      { host: '::1', port: 5433 },
    ],
    database: 'notes',
  });
});
