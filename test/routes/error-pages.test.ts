/** Error pages explain the error in words for people and link to a page that works. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { wordsFor } from '../../src/web/words.ts';
import { Browser } from '../support/cookie-browser.ts';
import { readIdIn } from '../support/feed-client.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, post, start, tempDir } from '../support/service.ts';

const HTML = { headers: { accept: 'text/html' } };
const imprint = join(await tempDir(t), 'imprint.md');
await writeFile(imprint, 'x'.repeat(256 * 1024 + 1));
const { url } = await start(t, { SERVICE_IMPRINT_FILE: imprint });
const readId = readIdIn((await post(`${url}/puffin`, 'A note')).json.read_url);

/** The addresses that the page leads to, beside the start page in its header. */
async function waysOut(path: string, status: number): Promise<string[]> {
  const reply = await ask(url + path, HTML);
  t.equal(reply.status, status, path);
  const [main = ''] = /<main.*<\/main>/s.exec(reply.text) ?? [];
  return [...main.matchAll(/href="([^"]*)"/g)].map(([, address]) => address!);
}

t.test('what is not there leads to its feed, else to the start page', async (t) => {
  t.same(await waysOut('/puffin/nothing', 404), ['/puffin', '/']);
  t.same(await waysOut(`/r/${readId}/nothing`, 404), [`/r/${readId}`, '/']);
  t.same(await waysOut('/puffin/settings/more/of/it', 404), ['/puffin', '/']);
  for (const path of ['/r/x', '/privacy', '/oauth/authorize']) t.same(await waysOut(path, 404), ['/'], path);
  for (const path of ['/api', '/UPPER/case']) t.same(await waysOut(path, 400), ['/'], path);
});

t.test('who sends a header that cannot be read gets a page as well', async (t) => {
  const headers = { ...HTML.headers, authorization: 'Bearer \xff' };
  t.match(await ask(`${url}/puffin`, { headers }), { status: 400, text: '<code>invalid_request</code>' });
});

t.test('below /api there are no pages', async (t) => {
  t.match(await ask(`${url}/api/v1/none`, HTML), { status: 404, json: { code: 'not_found' } });
});

t.test('what does not work right now leads to itself', async (t) => {
  t.same(await waysOut('/imprint?x=%22', 503), ['/imprint?x=%22', '/']);
});

t.test('the words are for people, and the code is below', async (t) => {
  const { text } = await ask(`${url}/puffin/nothing`, HTML);
  t.match(text, '<p>There is nothing here. It may have been deleted, or the address is not complete.</p>');
  t.match(text, /<summary>Error <code>not_found<\/code><\/summary>/);
});

t.test('a header that nobody can read does not keep the page from saying so', async (t) => {
  const locked = await start(t, { SERVICE_PASSWORD: 'let us in' });
  const get = async (path: string, fields: string) => {
    const connection = await RawConnection.open(locked.port);
    t.teardown(() => connection.close());
    connection.send(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: test\r\n${fields}\r\n\r\n`, 'latin1'));
    const { status, body } = await connection.response();
    return { status, text: body.toString() };
  };
  const PAGE = /<summary>Error <code>/;
  t.match(await get('/puffin', 'Accept: text/html\r\nAuthorization: Bearer \xff'), {
    status: 400,
    text: PAGE,
  });
  t.match(await get('/r/x', 'Accept: text/html, \xff'), { status: 404, text: PAGE });
});

t.test('below /api there are no pages, whatever a client accepts', async (t) => {
  const reply = await ask(`${url}/api/v1/nothing/here`, HTML);
  t.match(reply, { status: 404, json: { code: 'not_found' } });
});

t.test('too many requests say when to try again', async (t) => {
  const limited = await start(t, { SERVICE_RATE_LIMIT: '1' });
  const browser = new Browser(limited.url);
  const send = () => browser.submit('/puffin/details', { title: 'x' });
  await send();
  const reply = await send();
  t.equal(reply.status, 429);
  t.match(reply.text, /You have sent too much in a short time\. Try again in \d+ seconds?\./);
  t.match(reply.text, /href="\/puffin"/);
});

t.test('a form from another site leads back here', async (t) => {
  const reply = await ask(`${url}/puffin/details`, {
    method: 'POST',
    body: new URLSearchParams({ title: 'x' }),
    headers: { accept: 'text/html', 'sec-fetch-site': 'cross-site' },
  });
  t.match(reply, { status: 403, text: 'This request came from a page of another site' });
});

t.test('words have times that people read', async (t) => {
  for (const [seconds, time] of [
    [0, '1 second'],
    [1, '1 second'],
    [20.2, '21 seconds'],
    [89, '89 seconds'],
    [90, '2 minutes'],
    [3600, '60 minutes'],
  ] as const)
    t.match(wordsFor('busy', seconds), new RegExp(`Try again in ${time}\\.$`));
  t.notMatch(wordsFor('busy'), /Try again in \d/);
  for (const code of ['toString', 'no such code', undefined])
    t.equal(wordsFor(code), 'That did not work. Please try again.');
});
