/** What compose.s3.yaml starts, without Docker: PostgreSQL, an S3 store, and the service with the environment it has there. */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { composeServices, environmentOf } from '../support/compose.ts';
import { FeedClient } from '../support/feed-client.ts';
import { countOf, OPERATOR_TOKEN, storeAt } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { SwiftServer } from '../support/swift.ts';

const PNG = { 'content-type': 'image/png' };
const AUTHORIZED = { authorization: `Bearer ${OPERATOR_TOKEN}` };

t.test('one container with an image store', { skip: missing('swift'), timeout: 600_000 }, async (t) => {
  const { notes, pictures } = composeServices('compose.s3.yaml');
  const env = environmentOf(notes!);
  const swift = await SwiftServer.start(t);
  const place = { kind: 's3', ...(await swift.bucket(env.SERVICE_S3_BUCKET)) } as const;
  const postgres = await PostgresServer.start(t);
  const secrets = await tempDir(t);
  await chmod(secrets, 0o755);
  for (const [name, value] of Object.entries({
    database_url: await postgres.database(),
    service_secret: 'a secret of tests that is long enough',
    operator_token: OPERATOR_TOKEN,
    s3_secret_key: place.secretKey,
  }))
    await writeFile(join(secrets, name), `${value}\n`);
  t.equal(new URL(env.SERVICE_S3_ENDPOINT!).hostname, 'pictures', 'the other container');
  const { MINIO_ROOT_USER, MINIO_ROOT_PASSWORD_FILE } = environmentOf(pictures!);
  t.equal(MINIO_ROOT_USER, env.SERVICE_S3_ACCESS_KEY);
  t.equal(MINIO_ROOT_PASSWORD_FILE, env.SERVICE_S3_SECRET_KEY_FILE);
  t.match(pictures!.entrypoint, [/^sh$/, /^-c$/, `mkdir -p /data/${env.SERVICE_S3_BUCKET} `]);
  // Their names are those of the containers' network and of the other store.
  const own = { SERVICE_S3_ENDPOINT: place.endpoint, SERVICE_S3_ACCESS_KEY: place.accessKey };
  const placed = Object.entries(env).map(([name, value]) => [name, value.replace('/run/secrets', secrets)]);
  const service = await ServiceProcess.start(t, { env: { ...Object.fromEntries(placed), ...own } });
  const { url } = service;
  const feed = new FeedClient(url, 'feed');
  const sizes = [1_000, 5 * 1024 * 1024];
  const store = await storeAt(t, place);
  for (const size of sizes) {
    const posted = await feed.post(picture('png', size), PNG);
    t.equal(posted.status, 201);
    const got = await ask(url + new URL(posted.json.file_url).pathname);
    t.ok(picture('png', size).equals(got.bytes));
  }
  t.equal(await countOf(store), sizes.length, 'they are in the bucket');
  const looked = await ask(`${url}/api/operator/images/unreferenced`, { headers: AUTHORIZED });
  t.match(looked.json, { store: 's3', missing: 0, unreferenced: { count: 0 } });
});
