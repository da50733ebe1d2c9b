/** What the URL says of TLS is what happens, on every connection. */
import { execFile } from 'node:child_process';
import { chmod, chown } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { missing, program } from '../support/installed.ts';
import { NOBODY, PostgresServer } from '../support/postgres.ts';
import { post, start, tempDir } from '../support/service.ts';
import { keptLog } from './files-support.ts';

const skip = missing('openssl');
t.setTimeout(600_000);

/** A key, and a certificate for a host that it has signed itself. */
async function certificate(
  t: Parameters<typeof tempDir>[0],
  host: string,
): Promise<{ key: string; cert: string }> {
  const dir = await tempDir(t);
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const request = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert];
  const name = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  await promisify(execFile)(program('openssl'), ['req', ...request, ...name]);
  await chmod(dir, 0o755);
  await chmod(key, 0o600);
  if (process.getuid?.() === 0) await chown(key, NOBODY, NOBODY);
  return { key, cert };
}

async function serverFor(host: string): Promise<{ url: string; server: PostgresServer; cert: string }> {
  const { key, cert } = await certificate(t, host);
  const server = await PostgresServer.start(t, ['ssl=on', `ssl_key_file=${key}`, `ssl_cert_file=${cert}`]);
  return { url: (await server.database()).replace('127.0.0.1', 'localhost'), server, cert };
}

async function refusal(url: string): Promise<unknown> {
  const opening = openPostgres({ url, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: keptLog() });
  return opening.then(
    (storage) => storage.close(),
    ({ message }) => message,
  );
}

t.test('with the right certificate all connections are encrypted', { skip }, async (t) => {
  const { url, server, cert } = await serverFor('localhost');
  const service = await start(t, {
    SERVICE_STORAGE: 'postgres',
    SERVICE_SECRET: 'a secret of tests that is long enough',
    SERVICE_DATABASE_URL: `${url}?sslmode=verify-full&sslrootcert=${cert}`,
  });
  t.equal((await post(`${service.url}/feed`, 'a note')).status, 201);
  const connections = await server.sql(
    'postgres',
    `SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'note-feed'`,
  );
  t.same(connections, [{ ssl: true }]);
  const unknown = await refusal(`${url}?sslmode=verify-full`);
  t.match(unknown, /cannot be used \(DEPTH_ZERO_SELF_SIGNED_CERT: no known authority vouches/);
  for (const mode of ['prefer', 'require', 'verify-ca'])
    t.equal(await refusal(`${url}?sslmode=${mode}`), unknown, `${mode} is no weaker`);
  t.equal(await refusal(`${url}?sslmode=no-verify`), undefined);
  t.equal(await refusal(`${url}?sslmode=disable`), undefined, 'the server takes both');
});

t.test('a certificate of another host is refused', { skip }, async (t) => {
  const { url, cert } = await serverFor('other.example');
  const message = await refusal(`${url}?sslmode=verify-full&sslrootcert=${cert}`);
  t.equal(
    message,
    'The database named by SERVICE_DATABASE_URL cannot be used ' +
      '(ERR_TLS_CERT_ALTNAME_INVALID: its certificate is for another host).',
  );
});
