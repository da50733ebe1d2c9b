/** A change that was allowed for one feed never reaches another that took its name meanwhile. */
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, post, start } from '../support/service.ts';

const service = await start(t);
const { url, port } = service;
const OLD = { 'x-feed-password': 'the old owner' };
const NEW = { 'x-feed-password': 'the new owner' };

const SETTINGS = JSON.stringify({ title: 'hijacked', description: '' });
const PASSWORD = JSON.stringify({ password: 'hijacked' });
const CHANGES: [string, string, string, string][] = [
  ['PUT', '', 'application/json', SETTINGS],
  ['PUT', '/password', 'application/json', PASSWORD],
  ['PUT', '/notes/ID', 'text/markdown', 'hijacked'],
  ['PATCH', '/notes/ID', 'application/json', '{"title":"hijacked"}'],
];

for (const [i, [method, path, type, body]] of CHANGES.entries())
  t.test(`${method} ${path || 'the record'}, its body half sent while the feed is made anew`, async (t) => {
    const name = `moving-${i}`;
    const first = await post(`${url}/${name}`, 'mine', OLD);
    const connection = await RawConnection.open(port);
    t.teardown(() => connection.close());
    const target = `/api/v1/feeds/${name}${path.replace('ID', first.json.id)}`;
    const fields = `Host: test\r\nX-Feed-Password: ${OLD['x-feed-password']}\r\nContent-Type: ${type}\r\n`;
    connection.send(`${method} ${target} HTTP/1.1\r\n${fields}Content-Length: ${body.length}\r\n\r\n`);
    connection.send(body.slice(0, 4));
    await delay(100);
    const record = `${url}/api/v1/feeds/${name}`;
    t.equal((await ask(record, { method: 'DELETE', headers: OLD })).status, 204);
    t.equal((await post(`${url}/${name}`, 'theirs', NEW)).status, 201);
    connection.send(body.slice(4));
    t.equal((await connection.response()).status, 404);
    const { status, json } = await ask(record, { headers: NEW });
    t.equal(status, 200);
    t.equal(json.title, '');
    const { json: list } = await ask(`${record}/notes`, { headers: NEW });
    t.strictSame(
      list.notes.map(({ content, title }: { content: string; title: string }) => [content, title]),
      [['theirs', 'theirs']],
    );
  });
