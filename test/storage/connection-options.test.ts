import { Client } from 'pg';
import t from 'tap';
import { connectionOptions, localSettings } from '../../src/storage/postgres/connection-options.ts';
import { PostgresServer } from '../support/postgres.ts';

const server = await PostgresServer.start(t);

t.test('a URL sets what is its own, and nothing of what the service decides', async (t) => {
  const url = await server.database();
  const told =
    'application_name=psql&statement_timeout=0&query_timeout=0&idle_in_transaction_session_timeout=0' +
    '&options=-c%20search_path%3Dmine+-c+enable_seqscan%3Don';
  const client = new Client(connectionOptions(`${url}?${told}&sslmode=disable`));
  t.teardown(() => client.end());
  await client.connect();
  const settings = async (...names: string[]) => {
    const { rows } = await client.query('SELECT name, setting FROM pg_settings WHERE name = ANY ($1)', [
      names,
    ]);
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  };
  t.same(
    await settings(
      'application_name',
      'statement_timeout',
      'idle_in_transaction_session_timeout',
      'enable_seqscan',
      'search_path',
    ),
    {
      application_name: 'note-feed',
      statement_timeout: '5000',
      idle_in_transaction_session_timeout: '5000',
      enable_seqscan: 'off',
      search_path: 'mine',
    },
  );
});

t.test('what else a URL says stays as it is', async (t) => {
  const password = 'postgres://user:p%40ss%3F@host:5432/notes';
  t.equal(connectionOptions(password).connectionString, password);
  t.equal(new Client(connectionOptions('postgres:///notes?host=/run/postgresql')).host, '/run/postgresql');
  const { connectionString } = connectionOptions(
    `${password}?sslmode=require&sslrootcert=/etc/my%20ca.pem?x`,
  );
  t.same(
    [...new URL(connectionString!).searchParams],
    [
      ['sslmode', 'verify-full'],
      ['sslrootcert', '/etc/my ca.pem?x'],
    ],
  );
});

t.test('behind a pooler each transaction has the limits of a connection', (t) => {
  t.match(
    localSettings({ statementMs: 5, idleMs: 6 }),
    'SET LOCAL statement_timeout=5; SET LOCAL idle_in_transaction_session_timeout=6; SET LOCAL ',
  );
  t.end();
});
