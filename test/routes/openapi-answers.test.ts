/** What the running service answers is what its API description says, for every operation and every status it has. */
import { hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import t, { type Test } from 'tap';
import type { RefusalCode } from '../../src/refusals.ts';
import { VERSION } from '../../src/version.ts';
import { Browser } from '../support/cookie-browser.ts';
import { type DescribedRequest, DescribedService } from '../support/described-answers.ts';
import { readIdIn } from '../support/feed-client.ts';
import { imageSettings, ON_SQLITE, OPERATOR_TOKEN } from '../support/image-settings.ts';
import { HOSTED, licenseFor } from '../support/licenses.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../support/multipart.ts';
import { operate } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { untilItRenders } from '../support/rendering.ts';
import { post, start, tempDir } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

const { url } = await start(t, { SERVICE_RESERVED_FEEDS: 'house', SERVICE_METRICS: '1' });
await untilItRenders(url);
const service = await DescribedService.of(url);
const MARKDOWN = { 'content-type': 'text/markdown' };
const PNG = { 'content-type': 'image/png' };
const KEY = { path: { feed: 'key' } };
const SAFE = { path: { feed: 'safe' }, headers: { 'x-feed-password': 'secret' } };

/** Sends a request, which must be answered as it says and as the document says. */
async function answered(t: Test, request: DescribedRequest, code?: RefusalCode) {
  const { reply, problems } = await service.ask(request);
  t.same(problems, []);
  t.equal(reply.status, request.status, `${request.id}: ${reply.text.slice(0, 200)}`);
  if (code !== undefined) t.equal(reply.json.code, code);
  return reply;
}

t.test('the service itself', async (t) => {
  const health = await answered(t, { id: 'health', status: 200 });
  t.strictSame(health.json, { status: 'ok', version: VERSION });
  for (const id of ['ready', 'getOpenApi', 'metrics', 'client']) await answered(t, { id, status: 200 });
  await answered(t, { id: 'getOpenApi', status: 304, headers: { 'if-none-match': '*' } });
});

let text: Record<string, string>;
let cat: Record<string, string>;
let readId: string;

t.test('posts', async (t) => {
  const rich = { 'x-note-title': 'A title', 'x-note-tags': 'a, b' };
  const post = { ...KEY, body: '# Hello', headers: { ...MARKDOWN, ...rich } };
  text = (await answered(t, { id: 'postNote', status: 201, ...post })).json;
  const named = {
    ...PNG,
    'x-note-title*': "UTF-8''caf%C3%A9",
    'x-note-alt': 'A cat',
    'x-note-name': 'cat.png',
  };
  cat = (
    await answered(t, { id: 'postNoteByUrl', status: 201, ...KEY, body: picture('png'), headers: named })
  ).json;
  readId = text.read_url!.split('/').at(-2)!;
  await answered(t, {
    ...SAFE,
    id: 'postNoteByUrl',
    status: 201,
    body: 'x',
    headers: { ...MARKDOWN, ...SAFE.headers },
  });
  const refused: [number, RefusalCode, Partial<DescribedRequest>][] = [
    [400, 'invalid_feed', { path: { feed: 'Key' } }],
    [400, 'reserved_feed', { path: { feed: 'house' } }],
    [400, 'empty_note', { body: ' ' }],
    [400, 'invalid_request', { headers: { ...MARKDOWN, 'x-note-alt': 'x' } }],
    [401, 'auth', { path: { feed: 'safe' } }],
    [409, 'feed_exists', { headers: { ...MARKDOWN, 'x-feed-password': 'secret' } }],
    [409, 'taken', { path: { feed: 'new' }, headers: { ...MARKDOWN, 'x-read-id': readId.toLowerCase() } }],
    [413, 'too_large', { body: 'x'.repeat(100 * 1024 + 1) }],
    [415, 'unsupported_type', { headers: { 'content-type': 'image/svg+xml' } }],
  ];
  const keyed = { id: 'putNoteByKey', path: { feed: 'keyed' }, query: '?key=build', headers: MARKDOWN };
  for (const status of [201, 200]) await answered(t, { ...keyed, status, body: `${status}` });
  await answered(t, { ...keyed, status: 400, query: '', body: 'x' }, 'invalid_request');
  await answered(t, { ...keyed, status: 415, body: picture('png'), headers: PNG }, 'unsupported_type');
  const hook = { id: 'postHook', path: { feed: 'hooks', kind: 'slack' } };
  const json = { 'content-type': 'application/json' };
  await answered(t, { ...hook, status: 200, body: '{"text": "x"}', headers: json });
  const discord = { ...hook, path: { feed: 'hooks', kind: 'discord' }, headers: json };
  await answered(t, { ...discord, status: 204, body: '{"content": "x"}' });
  await answered(t, { ...discord, status: 200, query: '?wait=true', body: '{"content": "x"}' });
  await answered(t, { ...hook, status: 400, body: '{}', headers: json }, 'invalid_body');
  await answered(t, { ...hook, status: 413, body: ' '.repeat(262_145), headers: json }, 'too_large');
  const secret = { path: { feed: 'hooks', kind: 'gitlab' }, query: '?secret=x', body: '{}', headers: json };
  await answered(t, { ...hook, ...secret, status: 401 }, 'auth');
  // A chosen read id has no capitals, so the one that is taken is chosen first.
  await answered(t, {
    id: 'postNote',
    status: 201,
    path: { feed: 'other' },
    body: 'x',
    headers: { ...MARKDOWN, 'x-read-id': readId.toLowerCase() },
  });
  for (const id of ['postNoteByUrl', 'postNote'])
    for (const [status, code, request] of refused)
      await answered(t, { id, status, ...KEY, body: 'x', headers: MARKDOWN, ...request }, code);
});

t.test('notes by the name of their feed', async (t) => {
  const note = { path: { feed: 'key', id: text.id! } };
  const pictured = { path: { feed: 'key', id: cat.id! } };
  const none = { path: { feed: 'key', id: 'none' } };
  const json = { 'content-type': 'application/json' };
  const list = await answered(t, { id: 'listNotes', status: 200, ...KEY });
  t.equal(list.json.notes.length, 2);
  t.type(
    (await answered(t, { id: 'listNotes', status: 200, ...KEY, query: '?limit=1' })).json.next,
    'string',
  );
  const known = { 'if-none-match': list.headers.get('etag')! };
  await answered(t, { id: 'listNotes', status: 304, ...KEY, headers: known });
  await answered(t, { id: 'listNotes', status: 400, ...KEY, query: '?limit=0' }, 'invalid_request');
  await answered(t, { id: 'listNotes', status: 200, ...KEY, query: '?from=2026-01-31' });
  for (const query of ['', '?q=n', '?q=a%20b'])
    await answered(t, { id: 'listTags', status: 200, ...KEY, query });
  await answered(t, { id: 'listTags', status: 304, ...KEY, headers: { 'if-none-match': '*' } });
  await answered(t, { id: 'listTags', status: 401, path: { feed: 'safe' } }, 'auth');
  await answered(t, { id: 'getNote', status: 304, ...note, headers: { 'if-none-match': '*' } });
  for (const each of [note, pictured]) await answered(t, { id: 'getNote', status: 200, ...each });
  for (const id of ['editNote', 'editNoteByUrl']) {
    const body = { body: 'New', headers: MARKDOWN };
    await answered(t, { id, status: 200, ...note, ...body });
    await answered(t, { id, status: 404, ...none, ...body }, 'not_found');
    await answered(t, { id, status: 415, ...pictured, ...body }, 'unsupported_type');
    await answered(t, { id, status: 400, ...note, ...body, body: ' ' }, 'empty_note');
    await answered(t, { id, status: 413, ...note, ...body, body: 'x'.repeat(102_401) }, 'too_large');
  }
  const preview = { id: 'preview', ...KEY, headers: json };
  await answered(t, { ...preview, status: 200, body: '{"text": "*New*"}' });
  await answered(t, { ...preview, status: 400, body: '{}' }, 'invalid_body');
  const long = JSON.stringify({ text: 'x'.repeat(102_401) });
  await answered(t, { ...preview, status: 413, body: long }, 'too_large');
  for (const id of ['patchNote', 'patchNoteByUrl']) {
    const body = { body: '{"title": "New", "alt": "A cat"}', headers: json };
    await answered(t, { id, status: 200, ...pictured, ...body });
    await answered(t, { id, status: 400, ...note, ...body }, 'invalid_request');
    await answered(t, { id, status: 400, ...note, ...body, body: '{' }, 'invalid_body');
    await answered(t, { id, status: 404, ...none, ...body }, 'not_found');
    await answered(t, { id, status: 413, ...note, ...body, body: ' '.repeat(8193) }, 'too_large');
  }
  for (const id of ['getNote', 'deleteNote', 'deleteNoteByUrl']) {
    await answered(t, { id, status: 404, ...none }, 'not_found');
    await answered(t, { id, status: 401, path: { feed: 'safe', id: 'none' } }, 'auth');
    await answered(t, { id, status: 400, path: { feed: 'Key', id: 'none' } }, 'invalid_feed');
  }
});

t.test('forms', async (t) => {
  const png = file('file', 'a.png', 'image/png', picture('png'));
  const form = (...parts: SentPart[]) => ({ headers: { 'content-type': FORM_TYPE }, body: formBody(parts) });
  const place = { path: { feed: 'forms' } };
  const made = [];
  for (const id of ['postNoteByUrl', 'postNote']) {
    for (const [parts, count] of [
      [[field('text', 'a'), png, field('alt.a.png', 'A')], 1],
      [[field('text', 'a')], 0],
      [[png], 1],
    ] as const) {
      const { json } = await answered(t, { id, status: 201, ...place, ...form(...parts) });
      t.equal(json.attachments.length, count);
      made.push(json);
    }
    const big = field('text', 'x'.repeat(102_401));
    await answered(t, { id, status: 400, ...place, ...form() }, 'invalid_body');
    await answered(t, { id, status: 400, ...place, ...form(field('text', ' ')) }, 'empty_note');
    await answered(t, { id, status: 413, ...place, ...form(big) }, 'too_large');
    await answered(
      t,
      { id, status: 415, ...place, ...form(file('file', 'a', 'text/html', '')) },
      'unsupported_type',
    );
    const { headers, body } = form(png);
    const described = { headers: { ...headers, 'x-note-alt': 'A' }, body };
    await answered(t, { id, status: 400, ...place, ...described }, 'invalid_request');
  }
  const note = { path: { feed: 'forms', id: made[0].id } };
  for (const id of ['editNote', 'editNoteByUrl']) {
    const { json } = await answered(t, { id, status: 200, ...note, ...form(field('text', 'b'), png) });
    t.equal(json.attachments.length, 1);
    await answered(t, { id, status: 400, ...note, ...form(png) }, 'invalid_body');
    const pictured = { path: { feed: 'forms', id: made[2].id } };
    await answered(t, { id, status: 415, ...pictured, ...form(field('text', 'b')) }, 'unsupported_type');
  }
});

t.test('exports and imports', async (t) => {
  const { bytes } = await answered(t, { id: 'exportFeed', status: 200, ...KEY });
  const request = { id: 'importFeed', ...KEY, headers: { 'content-type': 'application/zip' } };
  const { json } = await answered(t, { ...request, status: 200, body: bytes as Buffer<ArrayBuffer> });
  t.match(json, { imported: 0, refused_count: 0 });
  const refused = await answered(t, { ...request, status: 200, body: zipOf([{ name: 'no' }]) });
  t.equal(refused.json.refused[0].code, 'invalid_body');
  await answered(t, { ...request, status: 400, body: 'no zip' }, 'invalid_body');
  const unlessThere = { ...request.headers, 'if-none-match': '*' };
  const again = { ...request, body: bytes as Buffer<ArrayBuffer>, headers: unlessThere };
  await answered(t, { ...again, status: 412 }, 'changed');
  await answered(t, { ...request, status: 415, body: 'x', headers: {} }, 'unsupported_type');
  await answered(t, { id: 'exportFeed', status: 404, path: { feed: 'nobody' } }, 'not_found');
  for (const id of ['exportFeed', 'importFeed'])
    await answered(t, { id, status: 401, path: { feed: 'safe' } }, 'auth');
});

t.test('feeds', async (t) => {
  await answered(t, { id: 'getFeed', status: 200, ...KEY });
  await answered(t, { id: 'getFeed', status: 304, ...KEY, headers: { 'if-none-match': '*' } });
  const { title, description, image } = { title: 'Title', description: 'What it is', image: cat.file };
  const put = (changes: object) => ({
    id: 'updateFeed',
    headers: { 'content-type': 'application/json' },
    ...KEY,
    body: JSON.stringify({ title, description, ...changes }),
  });
  const changed = await answered(t, { ...put({ image, show_sender: false }), status: 200 });
  t.type(changed.json.image_url, 'string');
  await answered(t, { ...put({ title: 1 }), status: 400 }, 'invalid_body');
  const patch = (changes: object) => ({ ...put({}), id: 'patchFeed', body: JSON.stringify(changes) });
  await answered(t, { ...patch({ image: '' }), status: 200 });
  await answered(t, { ...patch({}), status: 400 }, 'invalid_request');
  await answered(t, { ...put({ image: 'none.png' }), status: 400 }, 'invalid_request');
  await answered(t, { ...put({ read_id: readId.toLowerCase() }), status: 409 }, 'taken');
  await answered(t, { ...put({ more: 'x'.repeat(8192) }), status: 413 }, 'too_large');
  const password = (text: string) => ({
    body: JSON.stringify({ password: text }),
    headers: { ...SAFE.headers, 'content-type': 'application/json' },
  });
  await answered(t, { id: 'changeFeedPassword', status: 204, path: SAFE.path, ...password('secret') });
  await answered(
    t,
    { id: 'changeFeedPassword', status: 400, path: SAFE.path, ...password('') },
    'invalid_request',
  );
  await answered(t, { id: 'changeFeedPassword', status: 409, ...KEY, ...password('x') }, 'feed_exists');
  await answered(t, { id: 'removeFeedPassword', status: 409, ...KEY }, 'feed_exists');
  for (const id of [
    'getFeed',
    'updateFeed',
    'patchFeed',
    'deleteFeed',
    'changeFeedPassword',
    'removeFeedPassword',
  ]) {
    await answered(t, { id, status: 404, path: { feed: 'none' } }, 'not_found');
    await answered(t, { id, status: 401, path: { feed: 'safe' } }, 'auth');
    await answered(t, { id, status: 400, path: { feed: 'Key' } }, 'invalid_feed');
  }
  await answered(t, { id: 'removeFeedPassword', status: 204, ...SAFE });
});

t.test('public reads', async (t) => {
  const place = { readId, id: text.id!, file: cat.file! };
  for (const id of [
    'getReadFeed',
    'listReadNotes',
    'listReadTags',
    'getReadNote',
    'rss',
    'jsonFeed',
    'file',
  ]) {
    const { headers } = await answered(t, { id, status: 200, path: place });
    const known = { 'if-none-match': headers.get('etag')! };
    await answered(t, { id, status: 304, path: place, headers: known });
    await answered(t, { id, status: 404, path: { ...place, readId: 'x' } }, 'not_found');
  }
  for (const id of ['getReadFeed', 'listReadNotes', 'listReadTags', 'rss', 'jsonFeed'])
    await answered(t, { id, status: 200, path: { readId: 'nobody-has-it' } });
  for (const id of ['listReadNotes', 'rss', 'jsonFeed'])
    await answered(t, { id, status: 400, path: place, query: '?tag=*' }, 'invalid_request');
  await answered(t, { id: 'getReadNote', status: 200, path: { ...place, id: cat.id! } });
  await answered(t, { id: 'file', status: 200, path: { ...place, file: text.file! } });
  await answered(t, { id: 'file', status: 206, path: place, headers: { range: 'bytes=0-3' } });
  await answered(t, { id: 'file', status: 416, path: place, headers: { range: 'bytes=999-' } }, 'range');
});

t.test('deletions', async (t) => {
  await answered(t, { id: 'deleteNote', status: 204, path: { feed: 'key', id: text.id! } });
  await answered(t, { id: 'deleteNoteByUrl', status: 204, path: { feed: 'key', id: cat.id! } });
  const empty = await answered(t, { id: 'getFeed', status: 200, ...KEY });
  t.match(empty.json, { read_url: null, image_url: null });
  await answered(t, { id: 'deleteFeed', status: 204, ...KEY });
});

t.test('event streams', async (t) => {
  for (const [id, path] of [
    ['readEvents', { readId }],
    ['feedEvents', { feed: 'key' }],
  ] as const)
    await answered(t, { id, path, method: 'HEAD', status: 200, query: '?since=0' });
  await answered(t, { id: 'readEvents', status: 404, path: { readId: 'x' } }, 'not_found');
  await answered(t, { id: 'feedEvents', status: 400, path: { feed: 'Key' } }, 'invalid_feed');
});

t.test('what the operator asks for', async (t) => {
  const dir = await tempDir(t);
  const settings = { ...ON_SQLITE, ...imageSettings({ kind: 'fs', dir }), SERVICE_REPORT_URL: 'builtin' };
  const { url } = await start(t, settings);
  const other = new DescribedService(url, service.document);
  const { json } = await post(`${url}/key`, picture('png'), PNG);
  await post(`${url}/other`, 'x', { 'x-feed-password': 'old' });
  const pictured = (await post(`${url}/pictured`, picture('png'), PNG)).json;
  const removed = readIdIn((await post(`${url}/removed`, 'x')).json.read_url);
  for (const target of [pictured.file_url, `/r/${removed}`])
    t.equal((await operate(url, 'POST', '/takedown', { target, block: true })).status, 200);
  await new Browser(url).submit('/report', { target: `/r/${removed}`, reason: 'x' });
  const blocked = { path: { feed: 'again', id: json.id }, body: picture('png'), headers: PNG, status: 451 };
  for (const request of [
    { id: 'postNote', ...blocked },
    { id: 'putNoteByKey', ...blocked, query: '?key=cat' },
    { id: 'editNote', ...blocked, path: { feed: 'key', id: json.id } },
  ]) {
    const { reply, problems } = await other.ask(request);
    t.same(problems, []);
    t.match(reply, { status: 451, json: { code: 'blocked' } });
  }
  const [reported] = (await operate(url, 'GET', '/reports')).json.reports;
  const authorization = `Bearer ${OPERATOR_TOKEN}`;
  const take = { id: 'takeDown', body: JSON.stringify({ read_id: json.read_url.split('/').at(-2) }) };
  const requests: (Omit<DescribedRequest, 'headers'> & { code?: RefusalCode })[] = [
    { id: 'countUnreferencedImages', status: 200 },
    { id: 'removeUnreferencedImages', status: 200 },
    { id: 'moveImages', status: 200, body: '{"from":"db"}' },
    { id: 'moveImages', status: 400, body: '{"from":"disk"}', code: 'invalid_request' },
    { id: 'moveImages', status: 409, body: JSON.stringify({ from: 'fs', dir }), code: 'same_store' },
    { ...take, status: 200 },
    { ...take, status: 404, code: 'not_found' },
    { id: 'getStats', status: 200 },
    { id: 'listFeeds', status: 200, query: '?sort=name&q=o&limit=1' },
    { id: 'listFeeds', status: 400, query: '?sort=size', code: 'invalid_request' },
    { id: 'setFeedPassword', status: 204, body: '{"password":"new"}', path: { feed: 'other' } },
    { id: 'unsetFeedPassword', status: 204, path: { feed: 'other' } },
    { id: 'unsetFeedPassword', status: 409, path: { feed: 'other' }, code: 'feed_exists' },
    { id: 'removeFeed', status: 204, path: { feed: 'other' } },
    { id: 'removeFeed', status: 404, path: { feed: 'other' }, code: 'not_found' },
    { id: 'blockName', status: 204, path: { feed: 'other' } },
    { id: 'listBlocks', status: 200 },
    { id: 'unblockName', status: 204, path: { feed: 'other' } },
    { id: 'unblockLink', status: 204, path: { readId: removed } },
    { id: 'unblockLink', status: 404, path: { readId: removed }, code: 'not_found' },
    { id: 'unblockPicture', status: 204, path: { sha256: hash('sha256', picture('png'), 'base64url') } },
    { id: 'unblockPicture', status: 404, path: { sha256: 'x' }, code: 'not_found' },
    { id: 'listReports', status: 200 },
    { id: 'dismissReport', status: 204, path: { report: reported.id } },
    { id: 'dismissReport', status: 404, path: { report: reported.id }, code: 'not_found' },
  ];
  const failing: typeof requests = [
    { id: 'countUnreferencedImages', status: 502, code: 'store_unavailable' },
    { id: 'removeUnreferencedImages', status: 502, code: 'store_unavailable' },
    {
      id: 'moveImages',
      status: 502,
      body: JSON.stringify({ from: 'fs', dir: await tempDir(t) }),
      code: 'store_unavailable',
    },
  ];
  for (const { code, ...request } of [...requests, ...failing]) {
    if (request.status === 502) await rm(dir, { recursive: true, force: true });
    const { reply, problems } = await other.ask({ ...request, headers: { authorization } });
    t.same(problems, []);
    t.equal(reply.status, request.status, reply.text);
    if (code) t.equal(reply.json.code, code);
  }
  for (const what of other.seen) service.seen.add(what);
});

t.test('licenses', async (t) => {
  const hosted = await start(t, HOSTED);
  const other = new DescribedService(hosted.url, service.document);
  const ask = async (request: DescribedRequest, code?: RefusalCode) => {
    const { reply, problems } = await other.ask({ ...KEY, ...request });
    t.same(problems, []);
    t.match(reply, { status: request.status, ...(code && { json: { code } }) });
  };
  const attach = (license: string) => ({
    id: 'attachLicense',
    body: JSON.stringify({ license }),
    headers: { 'content-type': 'application/json' },
  });
  const pictured = { id: 'postNote', body: picture('png'), headers: PNG };
  const license = licenseFor();
  await ask({ ...pictured, status: 402 }, 'license_required');
  await ask({ id: 'postNote', status: 201, body: 'x', headers: MARKDOWN });
  await ask({ id: 'getFeed', status: 200 });
  await ask({ ...attach('x'), status: 400 }, 'invalid_license');
  await ask({ ...attach(license), status: 200 });
  await ask({ ...pictured, status: 201 });
  await ask({ id: 'postNote', status: 201, body: 'x', headers: MARKDOWN, path: { feed: 'other' } });
  await ask({ ...attach(license), status: 409, path: { feed: 'other' } }, 'taken');
  await ask({ id: 'detachLicense', status: 204 });
  for (const seen of other.seen) service.seen.add(seen);
});

t.test('every operation was asked for each thing it can answer with when it goes well', async (t) => {
  for (const [id, { method, path }] of service.operations)
    for (const status of Object.keys(service.document.paths[path][method].responses))
      if (/^[23]/.test(status)) t.ok(service.seen.has(`${id} ${status}`), `${id} ${status}`);
});

t.test('limits', async (t) => {
  const limited = await start(t, {
    SERVICE_PASSWORD: 'instance',
    SERVICE_RATE_LIMIT: '1',
    SERVICE_IMAGE_UPLOADS: '0',
  });
  const other = new DescribedService(limited.url, service.document);
  const ask = async (request: DescribedRequest, code: RefusalCode) => {
    const { reply, problems } = await other.ask(request);
    t.same(problems, []);
    t.match(reply, { status: request.status, json: { code } });
  };
  const post = { id: 'postNote', ...KEY, body: 'x' };
  const pass = { authorization: 'Bearer instance' };
  await ask({ ...post, status: 403, body: picture('png'), headers: { ...PNG, ...pass } }, 'images_off');
  await ask({ ...post, status: 429, headers: { ...MARKDOWN, ...pass } }, 'rate_limited');
  const guess = { authorization: 'Bearer guess' };
  await ask({ ...post, status: 401, headers: { ...MARKDOWN, ...guess } }, 'auth');
  await ask({ ...post, status: 429, headers: { ...MARKDOWN, ...pass } }, 'too_many_attempts');
});

t.test('caps', async (t) => {
  const full = await start(t, {
    SERVICE_MAX_FEEDS: '1',
    SERVICE_MAX_NOTES_PER_FEED: '1',
    SERVICE_MAX_IMAGES_PER_FEED: '1',
  });
  const other = new DescribedService(full.url, service.document);
  const note = { path: { feed: 'key' }, body: 'x', headers: MARKDOWN };
  const pictured = { path: { feed: 'key' }, body: picture('png'), headers: PNG };
  for (const first of [note, pictured])
    t.same((await other.ask({ id: 'postNote', status: 201, ...first })).problems, []);
  for (const [request, code] of [
    [note, 'note_limit'],
    [pictured, 'image_limit'],
    [{ ...note, path: { feed: 'new' } }, 'feed_limit'],
  ] as const) {
    const { reply, problems } = await other.ask({ id: 'postNote', status: 507, ...request });
    t.same(problems, []);
    t.match(reply, { status: 507, json: { code } });
  }
});

t.test('a cap of bytes', async (t) => {
  const full = await start(t, { SERVICE_MAX_BYTES_PER_FEED: '5' });
  const other = new DescribedService(full.url, service.document);
  const small = { id: 'postNote', path: { feed: 'key' }, body: 'small', headers: MARKDOWN, status: 201 };
  const { json } = (await other.ask(small)).reply;
  const large = {
    ...small,
    path: { feed: 'key', id: json.id, kind: 'generic' },
    body: '{"a":1}',
    status: 507,
  };
  for (const request of [
    { ...large },
    { ...large, id: 'putNoteByKey', query: '?key=large' },
    { ...large, id: 'editNote' },
    { ...large, id: 'postHook', headers: { 'content-type': 'application/json' } },
  ]) {
    const { reply, problems } = await other.ask(request);
    t.same(problems, []);
    t.match(reply, { status: 507, json: { code: 'byte_limit' } });
  }
});
