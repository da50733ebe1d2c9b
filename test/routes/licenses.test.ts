/** A hosted instance: the free tier, licenses by the API and by forms, and what pages say of them (contract §12). */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { FAR, HOSTED, licenseFor, PAST } from '../support/licenses.ts';
import { FORM_TYPE, field, file, formBody } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { ask, type Reply, start } from '../support/service.ts';

t.setTimeout(600_000);

const BUY = 'https://shop.example/licenses?x=1&y=2';
const service = await start(t, { ...HOSTED, SERVICE_LICENSE_URL: BUY });
const { url, dir } = service;
const DAY = 24 * 60 * 60 * 1000;

let feeds = 0;

async function newFeed(): Promise<FeedClient> {
  feeds += 1;
  const feed = new FeedClient(url, `godwit-${feeds}`);
  await feed.post('first');
  return feed;
}

const attach = (feed: FeedClient, license: unknown) =>
  feed.send('PUT', '/license', JSON.stringify({ license }));
const postPicture = (feed: FeedClient) => feed.post(picture('png'), { 'content-type': 'image/png' });
const form = [field('text', 'a ![b](b.png)'), file('file', 'b.png', 'image/png', picture('png'))];
const refused = (t: Test, reply: Reply, status: number, code: string) =>
  t.match({ status: reply.status, code: reply.json?.code }, { status, code });
const licenseOf = async (feed: FeedClient) => (await feed.get()).json.license;

/** The clock of the service, which runs in this process: so many ms ahead until the work is done. */
async function ahead<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const realNow = Date.now;
  Date.now = () => realNow() + ms;
  try {
    return await work();
  } finally {
    Date.now = realNow;
  }
}

t.test('in the free tier a feed takes no pictures, in whatever way', async (t) => {
  const feed = await newFeed();
  const id = (await feed.list()).json.notes[0].id;
  t.equal(await licenseOf(feed), null);
  refused(t, await postPicture(feed), 402, 'license_required');
  const huge = new Uint8Array(6 * 1024 * 1024);
  refused(t, await feed.post(huge, { 'content-type': 'image/png' }), 402, 'license_required');
  for (const reply of [await feed.postForm(form), await feed.putForm(id, form)]) {
    refused(t, reply, 402, 'license_required');
    t.match(reply.json.error, /^attachment "b\.png": /);
  }
  refused(t, await postPicture(new FeedClient(url, 'unmade')), 402, 'license_required');
  refused(t, await new FeedClient(url, 'unmade').get(), 404, 'not_found');
  t.equal((await feed.list()).json.notes.length, 1);
});

t.test('with a license it takes them; what it has then stays when the license goes', async (t) => {
  const feed = await newFeed();
  const license = licenseFor();
  const etag = (await feed.get()).headers.get('etag');
  const reply = await attach(feed, license);
  t.match(reply, { status: 200, json: { name: feed.name, license: { until: FAR } } });
  const record = await feed.get();
  t.same(record.json.license, { until: FAR });
  t.not(record.headers.get('etag'), etag);
  const path = join(dir, feed.name, '.license');
  t.equal(readFileSync(path, 'utf8'), `${license}\n`);
  t.equal(statSync(path).mode & 0o777, 0o600);
  const posted = (await postPicture(feed)).json;
  t.equal((await feed.postForm(form)).status, 201);

  t.equal((await feed.send('DELETE', '/license')).status, 204);
  t.equal((await feed.send('DELETE', '/license')).status, 204, 'there is none to detach any more');
  t.equal(await licenseOf(feed), null);
  t.equal((await ask(posted.file_url)).status, 200);
  const note = `/notes/${posted.id}`;
  t.equal((await feed.send('PATCH', note, '{"alt":"A godwit"}')).status, 200);
  const replaced = { method: 'PUT', headers: { 'content-type': 'image/png' }, body: picture('png', 64, 1) };
  refused(t, await ask(feed.record + note, replaced), 402, 'license_required');
  t.equal((await feed.send('DELETE', note)).status, 204);
});

t.test('a license that does not count changes nothing, and says why', async (t) => {
  const feed = await newFeed();
  const good = licenseFor();
  await attach(feed, good);
  for (const [license, message] of [
    [licenseFor({ until: PAST }), `it ended on ${PAST}`],
    [good.slice(0, -1), 'cut off'],
    [`${good}\n`, 'not written as it was issued'],
    [good.replace('nf1', 'nf2'), 'begin with'],
    ['', 'begin with'],
  ] as const) {
    const reply = await attach(feed, license);
    refused(t, reply, 400, 'invalid_license');
    t.match(reply.json.error, message);
  }
  for (const body of [5, null, undefined, ['x']]) refused(t, await attach(feed, body), 400, 'invalid_body');
  t.same(await licenseOf(feed), { until: FAR });
  t.equal((await postPicture(feed)).status, 201);
  refused(t, await attach(new FeedClient(url, 'unmade'), good), 404, 'not_found');
});

t.test('whatever is sent as a license, it is refused as one', async (t) => {
  const feed = await newFeed();
  const good = licenseFor();
  const mutated = fc
    .tuple(fc.nat(good.length), fc.string({ unit: 'binary', maxLength: 4 }))
    .map(([at, put]) => good.slice(0, at) + put + good.slice(at + put.length));
  const texts = fc.sample(fc.oneof(mutated, fc.string({ unit: 'binary', maxLength: 3_000 })), 200);
  const sent = texts.filter((text) => text !== good);
  const browser = new Browser(url);
  for (const text of sent) {
    const reply = await attach(feed, text);
    refused(t, reply, 400, 'invalid_license');
    t.equal(
      await browser.submit(`/${feed.name}/license`, { license: text }).then(({ status }) => status),
      400,
    );
  }
  t.equal(await licenseOf(feed), null);
});

t.test('a license serves as many feeds as it says', async (t) => {
  const [one, two, three] = [await newFeed(), await newFeed(), await newFeed()];
  const license = licenseFor({ feeds: 2 });
  for (const feed of [one, two, one]) t.equal((await attach(feed, license)).status, 200);
  refused(t, await attach(three, license), 409, 'taken');
  t.equal((await attach(one, licenseFor())).status, 200);
  t.equal((await attach(three, license)).status, 200);
  await two.delete();
  t.equal((await attach(await newFeed(), license)).status, 200, 'a feed that is deleted needs none');
});

t.test('it ends by itself at the end of its last day', async (t) => {
  const feed = await newFeed();
  const today = new Date().toISOString().slice(0, 10);
  t.match(await attach(feed, licenseFor({ until: today })), { json: { license: { until: today } } });
  t.match((await ask(`${url}/${feed.name}`)).text, `The license of this feed ends on ${today}`);
  t.match((await ask(`${url}/${feed.name}`)).text, 'Add pictures');
  const etag = (await feed.get()).headers.get('etag')!;
  await ahead(DAY, async () => {
    refused(t, await postPicture(feed), 402, 'license_required');
    t.match(await feed.with({ 'if-none-match': etag }).get(), { status: 200, json: { license: null } });
    const page = await ask(`${url}/${feed.name}`);
    t.match(page.text, `The license of this feed ended on ${today}`);
    t.notMatch(page.text, 'Add pictures');
    t.equal((await feed.post('text')).status, 201);
  });
  t.equal((await postPicture(feed)).status, 201);
});

t.test('a form that is on its way when the license ends is refused whole', async (t) => {
  const feed = await newFeed();
  const today = new Date().toISOString().slice(0, 10);
  await attach(feed, licenseFor({ until: today }));
  const body = formBody(form);
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { 'content-type': FORM_TYPE, 'content-length': body.length, expect: '100-continue' };
    const sent = request(`${url}/${feed.name}`, { method: 'POST', headers }, (answer) =>
      resolve(answer.resume().statusCode),
    );
    sent.on('error', reject);
    sent.on('continue', async () => {
      sent.write(body.subarray(0, -20));
      // When these are answered, the form has been let in.
      for (let i = 0; i < 3; i += 1) await feed.get();
      await ahead(DAY, () => {
        sent.end(body.subarray(-20));
        return new Promise((done) => sent.on('response', done));
      });
    });
    sent.flushHeaders();
  });
  t.equal(status, 402);
  t.equal((await feed.list()).json.notes.length, 1);
  t.equal((await feed.postForm(form)).status, 201);
});

t.test('a license can be put into the folder of a feed by hand', async (t) => {
  const feed = await newFeed();
  const path = join(dir, feed.name, '.license');
  const shows = (license: unknown) =>
    eventually(async () => JSON.stringify(await licenseOf(feed)) === JSON.stringify(license));
  writeFileSync(path, ` ${licenseFor({ id: 'by-hand', until: '2999-01-01' })}\n\n`);
  t.ok(await shows({ until: '2999-01-01' }));
  refused(t, await attach(await newFeed(), licenseFor({ id: 'by-hand' })), 409, 'taken');
  writeFileSync(path, 'none');
  t.ok(await shows(null));
  writeFileSync(path, licenseFor({ until: '2999-01-02' }));
  t.ok(await shows({ until: '2999-01-02' }));
  rmSync(path);
  t.ok(await shows(null));
});

t.test('at 990 notes 64 clients store ten more, and the sentence names the license', async (t) => {
  const feed = await newFeed();
  const posts = async (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => feed.post(`${i}`)));
  for (let left = 989; left > 0; left -= 64) await posts(Math.min(64, left));
  t.match((await ask(`${url}/${feed.name}`)).text, '990 of 1,000 notes');
  const replies = await posts(64);
  t.equal(replies.filter(({ status }) => status === 201).length, 10);
  const full = replies.filter(({ status, json }) => status === 507 && json.code === 'note_limit');
  t.equal(full.length, 54);
  t.match(full[0]!.json.error, /license/);
  const id = (await feed.list('?limit=1')).json.notes[0].id;
  t.equal((await feed.send('DELETE', `/notes/${id}`)).status, 204);
  t.equal((await feed.post('again')).status, 201);
  await attach(feed, licenseFor());
  t.equal((await feed.post('more')).status, 201);
});

t.test('forms attach and detach', async (t) => {
  const feed = await newFeed();
  const browser = new Browser(url);
  const settings = `/${feed.name}/settings`;
  const free = (await browser.visit(settings)).text;
  t.match(free, 'This feed is in the free tier: it takes no pictures and at most 1,000 notes. It has 1.');
  t.match(free, 'href="https://shop.example/licenses?x=1&amp;y=2"');
  t.notMatch(free, 'Detach the license');
  t.notMatch(free, 'Choose a picture');
  const license = licenseFor();
  const broken = `${license.slice(0, 40)}\n ${license.slice(40)}`;
  const reply = await browser.submit(`/${feed.name}/license`, { action: 'attach', license: broken });
  t.match(
    { status: reply.status, to: reply.headers.get('location') },
    { status: 303, to: `${settings}?saved=1` },
  );
  const licensed = (await browser.visit(settings)).text;
  t.match(licensed, `This feed has a license until the end of ${FAR} (UTC).`);
  t.match(licensed, 'Choose a picture');
  t.notMatch(licensed, license.slice(4, 40), 'it is never shown again');

  const other = await newFeed();
  for (const [sent, status, sentence] of [
    [license, 409, 'This license is in use by another feed'],
    ['nf1.x.y', 400, 'This license is not valid here'],
    [licenseFor({ until: PAST }), 400, `it ended on ${PAST}`],
  ] as const) {
    const page = await browser.submit(`/${other.name}/license`, { license: sent });
    t.equal(page.status, status);
    t.match(page.text, new RegExp(`<p class="error" id="license-text-error" role="alert">[^<]*${sentence}`));
    t.notMatch(page.text, sent.slice(4, 40));
  }
  t.equal((await browser.submit(`/${feed.name}/license`, { action: 'detach' })).status, 303);
  t.equal(await licenseOf(feed), null);
  t.equal((await browser.submit(`/${feed.name}/license`, { action: 'x' })).status, 400);
  const foreign = { 'sec-fetch-site': 'cross-site' };
  const stranger = await browser.submit(`/${feed.name}/license`, { license }, foreign);
  t.equal(stranger.status, 403);
});

t.test('pages say what the free tier is', async (t) => {
  const page = await ask(`${url}/license`);
  t.match(page, { status: 200, text: '<strong>1,000</strong> notes of text' });
  t.match(page.text, 'href="https://shop.example/licenses?x=1&amp;y=2"');
  const feed = await newFeed();
  for (const path of [`/${feed.name}`, '/not-made-yet']) {
    const { text } = await ask(url + path);
    t.match(text, 'Pictures need a license, which this feed does not have.');
    t.notMatch(text, 'Add pictures');
  }
  const { json } = await feed.list();
  t.match((await ask(json.notes[0].url)).text, 'Pictures need a license');
  const { text } = await ask(`${(await feed.get()).json.read_url.replace('/feed.xml', '')}`);
  t.notMatch(text, /[Ll]icense/, 'readers are told nothing of it');
});

t.test('no license and no feed is in the log', async (t) => {
  const feed = await newFeed();
  const license = licenseFor();
  await attach(feed, license);
  await feed.send('DELETE', '/license');
  const log = JSON.stringify(service.lines);
  t.match(log, 'license attached');
  t.match(log, 'license detached');
  t.notMatch(log, license.slice(4, 40));
  t.notMatch(log, feed.name);
});

t.test('limits of the instance hold in the free tier, too', async (t) => {
  const limits = { SERVICE_IMAGE_UPLOADS: '0', SERVICE_MAX_NOTES_PER_FEED: '1' };
  const feed = new FeedClient((await start(t, { ...HOSTED, ...limits })).url, 'ruff');
  t.equal((await feed.post()).status, 201);
  refused(t, await feed.post(), 507, 'note_limit');
  refused(t, await postPicture(feed), 403, 'images_off');
});

t.test('an instance that is not hosted knows nothing of licenses', async (t) => {
  const plain = await start(t);
  const feed = new FeedClient(plain.url, 'ruff');
  t.equal((await postPicture(feed)).status, 201);
  t.notOk('license' in (await feed.get()).json);
  for (const method of ['PUT', 'DELETE'])
    refused(
      t,
      await feed.send(method, '/license', method === 'PUT' ? '{"license":"x"}' : null),
      404,
      'not_found',
    );
  refused(t, await ask(`${plain.url}/license`), 404, 'not_found');
  for (const path of ['/ruff', '/ruff/settings'])
    t.notMatch((await ask(plain.url + path)).text, /[Ll]icense/);
});
