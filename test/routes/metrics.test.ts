/** `GET /metrics`, through HTTP. */
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { VERSION } from '../../src/version.ts';
import { eventually } from '../support/eventually.ts';
import { picture } from '../support/pictures.ts';
import { ask, post, start, tempDir } from '../support/service.ts';

const SECRET = 'a secret of tests that is long enough';

t.test('off, there is nothing', async (t) => {
  const { url } = await start(t, { SERVICE_METRICS_TOKEN: 'a-token-of-metrics' });
  t.match(await ask(`${url}/metrics`), { status: 404, json: { code: 'not_found' } });
  t.equal((await post(`${url}/metrics`, 'x')).json.code, 'reserved_feed', 'posting to it stays posting');
});

t.test('on, it counts what happened and names nobody', async (t) => {
  const { url } = await start(t, { SERVICE_METRICS: '1' });
  const { json } = await post(`${url}/secret-feed`, 'x', { 'x-note-tags': 'a-tag' });
  await post(`${url}/secret-feed`, picture('png', 100_000), { 'content-type': 'image/png' });
  for (let i = 0; i < 3; i++) await ask(json.read_url);
  await post(`${url}/Not A Feed`, 'x');
  const { status, headers, text } = await ask(`${url}/metrics`);
  t.equal(status, 200);
  t.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
  t.ok(text.includes(`service_build_info{version="${VERSION}",node="${process.versions.node}"} 1`));
  t.match(text, /operation="postNoteByUrl"/);
  t.match(text, /operation="rss"/);
  t.match(text, /task="inspect-picture"/);
  t.match(text, /service_storage_commit_duration_seconds_count [1-9]/);
  for (const secret of ['secret-feed', 'a-tag', new URL(json.read_url).pathname.split('/')[2]!, '127.0.0.1'])
    t.notOk(text.includes(secret), secret);
});

t.test('what alerts look at is there from the start', async (t) => {
  const dir = await tempDir(t);
  const service = await start(
    t,
    { SERVICE_METRICS: '1', SERVICE_STORAGE: 'sqlite', SERVICE_SECRET: SECRET },
    dir,
  );
  const scrape = async () => (await ask(`${service.url}/metrics`)).text;
  const text = await scrape();
  for (const line of [
    /^service_storage_up 1$/m,
    /^service_cache_fresh 1$/m,
    /^service_disk_free_bytes\{disk="data"\} [1-9]/m,
    /^service_disk_free_bytes\{disk="database"\} [1-9]/m,
    /^service_disk_size_bytes\{disk="data"\} [1-9]/m,
    /^service_backup_timestamp_seconds 0$/m,
    /^service_queue_full_total\{queue="bodies"\} 0$/m,
    /^service_queue_full_total\{queue="hashing"\} 0$/m,
    /^service_refusals_total\{code="internal"\} 0$/m,
  ])
    t.match(text, line);
  await writeFile(join(dir, '.backup-done'), '');
  t.match(await scrape(), /^service_backup_timestamp_seconds [1-9]/m);
});

t.test('a storage that cannot be used is down', async (t) => {
  const dir = await tempDir(t);
  const data = join(dir, 'data');
  const service = await start(t, { SERVICE_METRICS: '1', SERVICE_STORAGE: 'fs' }, data);
  const isUp = async () => /^service_storage_up (\d)$/m.exec((await ask(`${service.url}/metrics`)).text)?.[1];
  t.equal(await isUp(), '1');
  await rename(data, join(dir, 'elsewhere'));
  t.ok(await eventually(async () => (await isUp()) === '0'));
});

t.test('with a token, only for who has it', async (t) => {
  const { url } = await start(t, { SERVICE_METRICS: '1', SERVICE_METRICS_TOKEN: 'a-token-of-metrics' });
  const as = (authorization: string) => ask(`${url}/metrics`, { headers: { authorization } });
  t.match(await ask(`${url}/metrics`), { status: 401, json: { code: 'auth' } });
  t.equal((await as('Bearer wrong')).status, 401);
  t.equal((await as('Bearer a-token-of-metrics')).status, 200);
});

t.test('who has sent many wrong tokens must wait, and only there', async (t) => {
  const settings = { SERVICE_METRICS_TOKEN: 'a-token-of-metrics', SERVICE_PASSWORD: 'a-password' };
  const limited = { ...settings, SERVICE_RATE_LIMIT: '3', SERVICE_TRUST_PROXY: '1' };
  const { url } = await start(t, { SERVICE_METRICS: '1', ...limited });
  const as = (token: string, path = '/metrics', client = '192.0.2.1') =>
    ask(url + path, { headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': client } });
  for (let n = 0; n < 5; n++) await ask(`${url}/metrics`, { headers: { 'x-forwarded-for': '192.0.2.1' } });
  for (const token of ['a', 'b', 'c']) t.match(await as(token), { status: 401, json: { code: 'auth' } });
  t.match(await as('a-token-of-metrics'), { status: 429, json: { code: 'too_many_attempts' } });
  t.equal((await as('a-token-of-metrics', '/metrics', '192.0.2.2')).status, 200);
  t.equal((await as('a-password', '/api/v1/feeds/any/notes')).status, 200);
});
