/** Reports by readers, on an instance that takes them itself. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { ask, post, start, tempDir } from '../support/service.ts';

t.setTimeout(600_000);

const SETTINGS = { ...WITH_OPERATOR, SERVICE_REPORT_URL: 'builtin' };
const PROXIED = { ...SETTINGS, SERVICE_TRUST_PROXY: '1' };
const TARGET = '/r/some-feed/a-note';

/** The reports as the operator sees them. */
async function reportsOf(url: string) {
  return (await operate(url, 'GET', '/reports')).json.reports;
}

t.test('a report is kept until the operator has dealt with it', async (t) => {
  const service = await start(t, { ...PROXIED, SERVICE_PASSWORD: 'let us in' });
  const { url } = service;
  const feed = new FeedClient(url, 'bittern', { authorization: 'Bearer let us in' });
  const { json } = await feed.post('Buy my watches');
  const page = (await ask(`${url}/r/${readIdIn(json.read_url)}`)).text;
  const [, link = ''] = /<a class="report" [^>]*href="([^"]*)"/.exec(page) ?? [];
  const path = `/r/${readIdIn(json.read_url)}/${json.id}`;
  t.equal(link, `/report?target=${encodeURIComponent(path)}`);

  const reader = new Browser(url);
  const empty = await reader.visit(link);
  t.equal(empty.status, 200);
  t.match(empty.text, `value="${path}"`);
  const long = 'é'.repeat(2000);
  const sent = await reader.submit('/report', {
    target: url + path,
    reason: long,
    contact: ' me@example.org ',
  });
  t.strictSame([sent.status, sent.headers.get('location')], [303, '/report?sent=1']);
  t.match((await reader.visit('/report?sent=1')).text, /<h1[^>]*>Thank you/);
  const another = await reader.submit('/report', { target: `${path}.md`, reason: ' Spam\r\n\0too ' });
  t.equal(another.status, 303);

  const [first, second, ...more] = await reportsOf(url);
  const { id, at, ...rest } = first;
  t.strictSame(rest, { target: url + path, reason: long, contact: 'me@example.org' });
  t.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000);
  t.match(second, { target: `${url}${path}.md`, reason: 'Spam\n too' });
  t.notOk('contact' in second);
  t.strictSame(more, []);
  const page1 = (await operate(url, 'GET', '/reports?limit=1')).json;
  t.strictSame(page1.reports, [first]);
  t.strictSame((await operate(url, 'GET', `/reports?after=${page1.next}`)).json, {
    reports: [second],
    next: null,
  });

  t.strictSame((await operate(url, 'POST', '/takedown', { target: first.target })).json, { removed: 1 });
  t.equal((await operate(url, 'DELETE', `/reports/${id}`)).status, 204);
  t.equal((await operate(url, 'DELETE', `/reports/${id}`)).status, 404);
  t.strictSame(await reportsOf(url), [second]);
  const audit = service.lines.filter(({ fields }) => fields.audit === true).map(({ fields }) => fields.what);
  t.strictSame(audit, ['take down note', 'dismiss report']);
  await service.stop();
  const again = await start(t, { ...PROXIED, SERVICE_PASSWORD: 'let us in' }, service.dir);
  t.match(await reportsOf(again.url), [{ id: second.id }]);
});

t.test('what cannot be reported is shown again, with what was typed', async (t) => {
  const { url } = await start(t, PROXIED);
  for (const [fields, sentence] of [
    [{ target: '/some-feed', reason: 'x' }, 'The address must be one below a read link'],
    [{ target: '/api/v1/read/some-feed', reason: 'x' }, 'The address must be one below a read link'],
    [{ target: `https://other.example${TARGET}`, reason: 'x' }, 'The address must be one below a read link'],
    [{ target: `/r/some-feed/${'a'.repeat(1000)}`, reason: 'x' }, 'The address is too long'],
    [{ target: '', reason: '</textarea><i>' }, 'The address must be one below a read link'],
    [{ target: TARGET, reason: ' \r\n ' }, 'Say what is wrong with it'],
    [{ target: TARGET, reason: 'é'.repeat(2001) }, 'at most 2000 characters'],
    [{ target: TARGET, reason: 'x', contact: 'c'.repeat(201) }, 'contact'],
  ] as const) {
    const reply = await new Browser(url).submit('/report', { contact: '"<i>', ...fields });
    t.equal(reply.status, 400);
    t.match(reply.text, sentence);
    t.match(reply.text, 'role="alert"');
    t.match(reply.text, `value="${fields.target}"`);
    t.notMatch(reply.text, '<i>');
    const json = await new Browser(url).submit('/report', { ...fields }, { accept: '*/*' });
    t.match(json.json, { code: 'invalid_request' });
  }
  const tooMuch = { target: TARGET, reason: 'x'.repeat(50_000) };
  t.match((await new Browser(url).submit('/report', tooMuch)).status, 413);
  t.strictSame(await reportsOf(url), []);
});

t.test('other pages cannot report in the name of their readers', async (t) => {
  const { url } = await start(t, SETTINGS);
  const fields = { target: TARGET, reason: 'x' };
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '' },
    { 'sec-fetch-site': '', origin: 'https://other.example' },
  ]) {
    const reply = await new Browser(url).submit('/report', fields, { accept: '*/*', ...headers });
    t.match(reply, { status: 403, json: { code: 'foreign_form' } });
  }
  t.strictSame(await reportsOf(url), []);
});

t.test('a client may report five times in an hour', async (t) => {
  const { url } = await start(t, { ...PROXIED, SERVICE_RATE_LIMIT: '60' });
  const [reader, other] = [new Browser(url), new Browser(url)];
  const send = (browser: Browser) => browser.submit('/report', { target: TARGET, reason: 'x' });
  for (let n = 0; n < 6; n += 1) {
    const unread = await reader.submit('/report', { target: TARGET, reason: '' });
    t.equal(unread.status, 400, 'what is refused takes no turn');
  }
  for (let n = 0; n < 5; n += 1) t.equal((await send(reader)).status, 303);
  const refused = await send(reader);
  t.equal(refused.status, 429);
  const seconds = Number(refused.headers.get('retry-after'));
  t.ok(seconds > 3500 && seconds <= 3600, `${seconds}`);
  t.match(refused.text, '\nx</textarea>');
  t.equal((await send(other)).status, 303);
  t.equal((await reportsOf(url)).length, 6);
});

t.test('an instance that does not take reports has no such page', async (t) => {
  const { url } = await start(t, { ...WITH_OPERATOR, SERVICE_REPORT_URL: 'https://report.example/' });
  t.equal((await ask(`${url}/report?target=${TARGET}`)).json.code, 'reserved_feed');
  const reply = await new Browser(url).submit('/report', { target: TARGET, reason: 'x' }, { accept: '*/*' });
  t.match(reply.json, { code: 'reserved_feed' });
  t.strictSame(await reportsOf(url), []);
});

t.test('behind a proxy with a path, addresses of the public side are understood', async (t) => {
  const { url } = await start(t, { ...SETTINGS, PUBLIC_URL: 'https://notes.example/below' });
  const { json } = await post(`${url}/crake`, 'x');
  const page = (await ask(`${url}/r/${readIdIn(json.read_url)}`)).text;
  const path = `/below/r/${readIdIn(json.read_url)}/${json.id}`;
  t.match(page, `href="/below/report?target=${encodeURIComponent(path)}"`);
  for (const target of [path, `https://notes.example${path}`]) {
    const sent = await new Browser(url).submit('/report', { target, reason: 'x' });
    t.strictSame([sent.status, sent.headers.get('location')], [303, '/below/report?sent=1']);
  }
  for (const report of await reportsOf(url)) {
    t.equal(report.target, `https://notes.example${path}`);
    t.match(await operate(url, 'DELETE', `/reports/${report.id}`), { status: 204 });
  }
});

t.test(
  'no more reports wait than may, however many come at once',
  { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' },
  async (t) => {
    const dir = await tempDir(t);
    const report = JSON.stringify({ target: TARGET, reason: 'Spam', contact: '' });
    const lines = Array.from({ length: 9_998 }, (_, i) => JSON.stringify({ id: `old-${i}`, report }));
    await writeFile(join(dir, '.reports'), `${lines.join('\n')}\n`);
    const { url } = await start(t, PROXIED, dir);
    const sent = Array.from({ length: 20 }, () =>
      new Browser(url).submit('/report', { target: url + TARGET, reason: 'Spam' }),
    );
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    t.equal(statuses.filter((status) => status === 303).length, 2);
    t.equal(statuses.filter((status) => status === 503).length, 18);
  },
);
