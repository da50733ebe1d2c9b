/** The operator's endpoints, on SQLite with pictures in a folder. */
import { readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { isImageKey, newImageKey } from '../../src/feeds/ids.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { imageSettings, ON_SQLITE, OPERATOR_TOKEN } from '../support/image-settings.ts';
import { picture } from '../support/pictures.ts';
import { ask, type Reply, start, tempDir } from '../support/service.ts';

const PNG = { 'content-type': 'image/png' };
const UNREFERENCED = '/api/operator/images/unreferenced';
const MOVE = '/api/operator/images/move';
const TAKEDOWN = '/api/operator/takedown';
const AUTHORIZED = { authorization: `Bearer ${OPERATOR_TOKEN}` };

function operator(url: string, method: string, path: string, body?: unknown): Promise<Reply> {
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  return ask(url + path, { method, headers: AUTHORIZED, ...sent });
}

const dir = join(await tempDir(t), 'pictures');
const service = await start(t, {
  ...ON_SQLITE,
  ...imageSettings({ kind: 'fs', dir }),
  SERVICE_METRICS: '1',
  SERVICE_RATE_LIMIT: '40',
  SERVICE_TRUST_PROXY: '1',
});
const { url } = service;
const { text: metricsAtFirst } = await ask(`${url}/metrics`);
let client = 0;
/** Headers of a client that nobody was before. */
function someone(): Record<string, string> {
  client += 1;
  return { 'x-forwarded-for': `10.1.0.${client}` };
}

t.test('without the setting there is nothing, whatever the token', async (t) => {
  const { SERVICE_OPERATOR_TOKEN: _, ...without } = ON_SQLITE;
  const other = await start(t, without);
  for (const [method, path] of [
    ['GET', UNREFERENCED],
    ['DELETE', UNREFERENCED],
    ['POST', MOVE],
    ['POST', TAKEDOWN],
  ])
    for (const headers of [{}, AUTHORIZED]) {
      const { status, json } = await ask(other.url + path, { method: method!, headers });
      t.match({ status, json }, { status: 404, json: { code: 'not_found' } });
    }
});

t.test('a token is asked for, wrong ones are counted by themselves', async (t) => {
  const who = someone();
  const missing = await ask(url + UNREFERENCED, { headers: who });
  t.match({ status: missing.status, code: missing.json.code }, { status: 401, code: 'auth' });
  t.equal(missing.headers.get('www-authenticate'), 'Bearer');
  t.match(missing.headers.get('cache-control'), /no-store/);
  for (let n = 0; n < 50; n += 1) await ask(url + UNREFERENCED, { headers: who });
  for (let n = 0; n < 40; n += 1) {
    const wrong = await ask(url + UNREFERENCED, { headers: { ...who, authorization: 'Bearer wrong' } });
    t.equal(wrong.status, 401);
  }
  const over = await ask(url + UNREFERENCED, { headers: { ...who, ...AUTHORIZED } });
  t.match({ status: over.status, code: over.json.code }, { status: 429, code: 'too_many_attempts' });
  t.ok(Number(over.headers.get('retry-after')) > 0);
  t.equal((await ask(url + UNREFERENCED, { headers: { ...someone(), ...AUTHORIZED } })).status, 200);
  const posted = await ask(`${url}/feed-of-guesser`, {
    method: 'POST',
    body: 'x',
    headers: { ...who, 'content-type': 'text/markdown' },
  });
  t.equal(posted.status, 201, 'and nothing else is refused for them');
});

t.test('what no note refers to is counted, and removed when it is old', async (t) => {
  t.notMatch(metricsAtFirst, 'service_images_unreferenced');
  const feed = new FeedClient(url, 'kept', someone());
  const posted = await feed.post(picture('png', 500), PNG);
  const old = new Date(Date.now() - 3_700_000);
  const place = async (name: string, date = old) => {
    await writeFile(join(dir, name), 'stray');
    await utimes(join(dir, name), date, date);
  };
  for (let n = 0; n < 3; n += 1) await place(newImageKey());
  const young = newImageKey();
  await place(young, new Date());
  for (const other of ['notes.txt', 'A'.repeat(32)]) await place(other);
  const counted = { store: 'fs', unreferenced: { count: 3, bytes: 15 }, too_recent: 1, missing: 0 };
  const looked = await operator(url, 'GET', UNREFERENCED);
  t.strictSame(looked.json, counted);
  t.match(looked.headers.get('cache-control'), /no-store/);
  t.match((await ask(`${url}/metrics`)).text, /^service_images_unreferenced 3$/m);
  const removed = await operator(url, 'DELETE', UNREFERENCED);
  t.strictSame(removed.json, { ...counted, deleted: { count: 3, bytes: 15 }, failed: 0 });
  const { text } = await ask(`${url}/metrics`);
  for (const line of [
    /^service_images_unreferenced 0$/m,
    /^service_images_unreferenced_bytes 0$/m,
    /^service_images_missing 0$/m,
    /^service_images_checked_timestamp_seconds \d/m,
    /^service_image_store_down 0$/m,
    /^service_images_freed 0$/m,
  ])
    t.match(text, line);
  t.strictSame((await operator(url, 'GET', UNREFERENCED)).json.unreferenced, { count: 0, bytes: 0 });
  t.equal((await ask(url + new URL(posted.json.file_url).pathname)).status, 200);
  const [key] = (await readdir(dir)).filter((file) => isImageKey(file) && file !== young);
  await rm(join(dir, key!));
  t.equal((await operator(url, 'GET', UNREFERENCED)).json.missing, 1);
});

t.test('requests to move that make no sense', async (t) => {
  const s3 = {
    from: 's3',
    endpoint: 'https://s3.example',
    bucket: 'notes',
    access_key: 'a',
    secret_key: 's',
  };
  for (const [body, status, code] of [
    ['x', 400, 'invalid_body'],
    [{}, 400, 'invalid_body'],
    [{ from: 1 }, 400, 'invalid_body'],
    [{ from: 'db', limit: 'x' }, 400, 'invalid_body'],
    [{ from: 'disk' }, 400, 'invalid_request'],
    [{ from: 'db', limit: 0 }, 400, 'invalid_request'],
    [{ from: 'db', limit: 10_001 }, 400, 'invalid_request'],
    [{ from: 'db', limit: 1.5 }, 400, 'invalid_request'],
    [{ from: 'db', after: 'x' }, 400, 'invalid_request'],
    [{ from: 'fs' }, 400, 'invalid_request'],
    [{ from: 'fs', dir: '/no/such/folder' }, 400, 'invalid_request'],
    [{ from: 'fs', dir: `/${'a'.repeat(300)}` }, 400, 'invalid_request'],
    [{ ...s3, endpoint: 's3.example' }, 400, 'invalid_request'],
    [{ ...s3, bucket: 'N' }, 400, 'invalid_request'],
    [{ ...s3, access_key: '' }, 400, 'invalid_request'],
    [{ ...s3, region: 'eu west' }, 400, 'invalid_request'],
    [{ from: 'fs', dir }, 409, 'same_store'],
    [{ from: 'fs', dir: `${dir}/../pictures/` }, 409, 'same_store'],
    [JSON.stringify({ from: 'db', after: 'x'.repeat(20_000) }), 413, 'too_large'],
  ] as const) {
    const reply = await operator(url, 'POST', MOVE, body);
    t.match(
      { status: reply.status, code: reply.json.code },
      { status, code },
      JSON.stringify(body).slice(0, 60),
    );
  }
  const refused = await operator(url, 'POST', MOVE, { ...s3, bucket: 'NOT A BUCKET', secret_key: 'hush' });
  t.notMatch(refused.text, /NOT A BUCKET|hush/);
});

t.test('the bytes of feeds are the same wherever their pictures are', async (t) => {
  const [data, dir] = [await tempDir(t), join(await tempDir(t), 'pictures')];
  const folder = imageSettings({ kind: 'fs', dir });
  const bytes = picture('png', 5_000);
  for (const [settings, from] of [
    [imageSettings(undefined), undefined],
    [folder, { from: 'db' }],
    [imageSettings(undefined), { from: 'fs', dir }],
  ] as const) {
    const moved = await start(t, { ...ON_SQLITE, ...settings }, data);
    if (from) t.match((await operator(moved.url, 'POST', MOVE, from)).json, { moved: { count: 1 } });
    else await new FeedClient(moved.url, 'feed').post(bytes, PNG);
    const stats = { notes: 1, pictures: 1, bytes: bytes.byteLength };
    t.match((await operator(moved.url, 'GET', '/api/operator/stats')).json, stats);
    const audit = moved.lines.filter(({ fields }) => fields.audit === true).map(({ fields }) => fields.what);
    t.strictSame(audit, from ? ['move pictures'] : []);
    await moved.stop();
  }
});

t.test('a change that fails leaves its audit line, too', async (t) => {
  const dir = join(await tempDir(t), 'pictures');
  const { url, lines } = await start(t, { ...ON_SQLITE, ...imageSettings({ kind: 'fs', dir }) });
  t.equal((await operator(url, 'POST', MOVE, { from: 'fs', dir })).status, 409, 'refused, it is none');
  await rm(dir, { recursive: true });
  await writeFile(dir, 'no folder');
  t.match((await operator(url, 'DELETE', UNREFERENCED)).json, { code: 'store_unavailable' });
  const audit = lines.filter(({ fields }) => fields.audit === true).map(({ fields }) => fields.what);
  t.strictSame(audit, ['remove unreferenced pictures']);
});

t.test('without an image store', async (t) => {
  const db = await start(t, ON_SQLITE);
  const { SERVICE_STORAGE: _, ...onFiles } = ON_SQLITE;
  const files = await start(t, { ...onFiles, SERVICE_STORAGE: 'fs' });
  for (const [at, method, path, body, code] of [
    [db, 'GET', UNREFERENCED, undefined, 'no_image_store'],
    [db, 'DELETE', UNREFERENCED, undefined, 'no_image_store'],
    [db, 'POST', MOVE, { from: 'db' }, 'same_store'],
    [files, 'GET', UNREFERENCED, undefined, 'no_image_store'],
    [files, 'DELETE', UNREFERENCED, undefined, 'no_image_store'],
    [files, 'POST', MOVE, { from: 'db' }, 'no_image_store'],
    [files, 'POST', MOVE, { from: 'fs', dir }, 'no_image_store'],
  ] as const) {
    const reply = await operator(at.url, method, path, body);
    t.match({ status: reply.status, code: reply.json.code }, { status: 409, code }, `${method} ${path}`);
  }
  t.equal((await operator(files.url, 'POST', MOVE, { from: 1 })).status, 400, 'the body comes first');
});

for (const storage of ['sqlite', 'fs'])
  t.test(`what a report names is taken down, on ${storage}`, async (t) => {
    const { url } = await start(t, { ...ON_SQLITE, SERVICE_STORAGE: storage });
    const feed = new FeedClient(url, 'reported');
    const [first, second] = [
      await feed.post('a text'),
      await feed.post(picture('gif'), { 'content-type': 'image/gif' }),
    ];
    const readId = readIdIn(first.json.read_url);
    const take = (body: unknown) => operator(url, 'POST', TAKEDOWN, body);
    for (const body of [
      { read_id: 'nobody' },
      { read_id: '?' },
      { read_id: readId, file: 'x.png' },
      { read_id: readId, file: `${first.json.id}.png` },
    ])
      t.equal((await take(body)).status, 404);
    t.equal((await take({ file: 'x.png' })).json.code, 'invalid_body');
    const taken = await take({ read_id: readId, file: second.json.file });
    t.strictSame([taken.status, taken.json], [200, { removed: 1 }]);
    t.equal((await ask(url + new URL(second.json.file_url).pathname)).status, 404);
    t.equal((await take({ read_id: readId, file: second.json.file })).status, 404);
    for (let n = 0; n < 2; n += 1) await feed.post(`more ${n}`);
    t.strictSame((await take({ read_id: readId })).json, { removed: 3 });
    t.equal((await feed.get()).status, 404);
    t.equal((await take({ read_id: readId })).status, 404);
  });
