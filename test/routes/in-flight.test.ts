/** A change that was allowed reaches neither another feed that took the name meanwhile, nor one with another password. */
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, post, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

const service = await start(t);
const { url, port } = service;
const OLD = { 'x-feed-password': 'the old owner' };
const NEW = { 'x-feed-password': 'the new owner' };

const SETTINGS = JSON.stringify({ title: 'hijacked', description: '' });
const PASSWORD = JSON.stringify({ password: 'hijacked' });
type Change = readonly [method: string, path: string, type: string, body: string | Uint8Array];
const CHANGES: readonly Change[] = [
  ['PUT', '', 'application/json', SETTINGS],
  ['PUT', '/password', 'application/json', PASSWORD],
  ['PUT', '/notes/ID', 'text/markdown', 'hijacked'],
  ['POST', '/import', 'application/zip', zipOf([{ name: 'hijacked.md' }])],
  ['PATCH', '/notes/ID', 'application/json', '{"title":"hijacked"}'],
];

/** A change by the old owner whose body is half sent. */
async function halfSent(t: Test, name: string, id: string, [method, path, type, body]: Change) {
  const connection = await RawConnection.open(port);
  t.teardown(() => connection.close());
  const target = `/api/v1/feeds/${name}${path.replace('ID', id)}`;
  const fields = `Host: test\r\nX-Feed-Password: ${OLD['x-feed-password']}\r\nContent-Type: ${type}\r\n`;
  connection.send(`${method} ${target} HTTP/1.1\r\n${fields}Content-Length: ${body.length}\r\n\r\n`);
  connection.send(body.slice(0, 4));
  await delay(100);
  return async () => {
    connection.send(body.slice(4));
    return (await connection.response()).status;
  };
}

for (const [i, change] of CHANGES.entries()) {
  const [method, path] = change;
  const what = `${method} ${path || 'the record'}`;
  t.test(`${what}, its body half sent while the feed gets another password`, async (t) => {
    const name = `protected-${i}`;
    const first = await post(`${url}/${name}`, 'mine', OLD);
    const finish = await halfSent(t, name, first.json.id, change);
    const record = `${url}/api/v1/feeds/${name}`;
    const body = JSON.stringify({ password: NEW['x-feed-password'] });
    t.equal((await ask(`${record}/password`, { method: 'PUT', headers: OLD, body })).status, 204);
    t.equal(await finish(), 401);
    const { status, json } = await ask(`${record}/notes`, { headers: NEW });
    t.equal(status, 200);
    t.match(json.notes, [{ content: 'mine', title: 'mine' }]);
    t.equal((await ask(record, { headers: NEW })).json.title, '');
  });

  t.test(`${what}, its body half sent while the hash of the password is replaced`, async (t) => {
    const name = `rehashed-${i}`;
    const first = await post(`${url}/${name}`, 'mine', OLD);
    const finish = await halfSent(t, name, first.json.id, change);
    const body = JSON.stringify({ password: OLD['x-feed-password'] });
    const same = { method: 'PUT', headers: OLD, body };
    t.equal((await ask(`${url}/api/v1/feeds/${name}/password`, same)).status, 204);
    t.equal(await finish(), 503, 'it can be sent again');
  });

  t.test(`${what}, its body half sent while the feed is made anew`, async (t) => {
    const name = `moving-${i}`;
    const first = await post(`${url}/${name}`, 'mine', OLD);
    const finish = await halfSent(t, name, first.json.id, change);
    const record = `${url}/api/v1/feeds/${name}`;
    t.equal((await ask(record, { method: 'DELETE', headers: OLD })).status, 204);
    t.equal((await post(`${url}/${name}`, 'theirs', NEW)).status, 201);
    t.equal(await finish(), 404);
    const { status, json } = await ask(record, { headers: NEW });
    t.equal(status, 200);
    t.equal(json.title, '');
    const { json: list } = await ask(`${record}/notes`, { headers: NEW });
    t.strictSame(
      list.notes.map(({ content, title }: { content: string; title: string }) => [content, title]),
      [['theirs', 'theirs']],
    );
  });
}

t.test('a bad read id, of no matter to a feed that is there, makes none once that is gone', async (t) => {
  const first = await post(`${url}/gone`, 'mine');
  t.equal(first.status, 201);
  const connection = await RawConnection.open(port);
  t.teardown(() => connection.close());
  const fields = 'Host: test\r\nX-Read-Id: No\r\nContent-Type: text/markdown\r\nContent-Length: 4\r\n';
  connection.send(`POST /gone HTTP/1.1\r\n${fields}\r\nla`);
  await delay(100);
  t.equal((await ask(`${url}/api/v1/feeds/gone`, { method: 'DELETE' })).status, 204);
  connection.send('te');
  t.match(await connection.response(), { status: 400, body: /read id/ });
  t.equal((await ask(`${url}/api/v1/feeds/gone`)).status, 404);
});

t.test('a form that deletes a feed says so only if the feed is gone', async (t) => {
  await post(`${url}/kept`, 'mine', OLD);
  const browser = new Browser(url);
  await browser.submit('/kept/access', { action: 'unlock', password: OLD['x-feed-password'] });
  const connection = await RawConnection.open(port);
  t.teardown(() => connection.close());
  const fields = `Host: test\r\nCookie: ${browser.cookiesFor('/kept')}\r\nSec-Fetch-Site: same-origin\r\n`;
  connection.send(
    `POST /kept/delete HTTP/1.1\r\n${fields}Content-Type: application/x-www-form-urlencoded\r\n`,
  );
  connection.send('Content-Length: 9\r\n\r\nname=');
  await delay(100);
  const body = JSON.stringify({ password: NEW['x-feed-password'] });
  const password = { method: 'PUT', headers: OLD, body };
  t.equal((await ask(`${url}/api/v1/feeds/kept/password`, password)).status, 204);
  connection.send('kept');
  t.equal((await connection.response()).status, 401);
  t.equal((await ask(`${url}/api/v1/feeds/kept`, { headers: NEW })).status, 200);
});
