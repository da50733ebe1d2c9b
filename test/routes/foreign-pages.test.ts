/** Another site's page cannot write to an instance in its visitor's network (contract §1). */
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { contents } from '../support/refused.ts';
import { ask, start } from '../support/service.ts';

const { url, dir } = await start(t, { SERVICE_RATE_LIMIT: '20' });
const owner = new FeedClient(url, 'vole');
const { id } = (await owner.post('text')).json;
const WRITES: [method: string, path: string, body: string | null][] = [
  ['POST', '/vole', 'x'],
  ['POST', '/new-vole', 'x'],
  ['POST', '/api/v1/feeds/vole/notes', 'x'],
  ['PUT', `/vole/${id}`, 'x'],
  ['PATCH', `/vole/${id}`, '{"title":"x"}'],
  ['DELETE', `/vole/${id}`, null],
  ['PUT', '/api/v1/feeds/vole', '{"title":"x","description":""}'],
  ['DELETE', '/api/v1/feeds/vole', null],
  ['PUT', '/api/v1/feeds/vole/password', '{"password":"x"}'],
  ['DELETE', '/api/v1/feeds/vole/password', null],
];

for (const [method, path, body] of WRITES) {
  t.test(`${method} ${path.replace(id, '{id}')} from another site`, async (t) => {
    const before = contents(dir);
    const headers = { 'content-type': 'text/markdown', 'sec-fetch-site': 'cross-site' };
    const reply = await ask(url + path, { method, headers, body });
    t.match(reply, { status: 403, json: { code: 'foreign_form' } });
    t.same(contents(dir), before);
  });
}

for (const site of ['same-origin', 'same-site', 'none']) {
  t.test(`a post with Sec-Fetch-Site: ${site} is taken`, async (t) => {
    t.equal((await owner.post('text', { 'sec-fetch-site': site })).status, 201);
  });
}

t.test('reads are not writes', async (t) => {
  const reply = await ask(`${url}/api/v1/feeds/vole/notes`, { headers: { 'sec-fetch-site': 'cross-site' } });
  t.equal(reply.status, 200);
});
