/** Another site's page cannot write to an instance in its visitor's network (contract §1). */
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { contents } from '../support/refused.ts';
import { ask, start } from '../support/service.ts';

const { url, dir, port } = await start(t);
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
  ['POST', '/api/v1/feeds/vole/preview', '{"text":"x"}'],
];
/** What the browser says of a page elsewhere. Without https it says the origin alone. */
const ELSEWHERE: Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { origin: 'http://evil.example' },
  { origin: `http://127.0.0.2:${port}` },
  { origin: `http://127.0.0.1:${port + 1}` },
  { origin: 'http://127.0.0.1' },
  { origin: `ftp://127.0.0.1:${port}` },
  { origin: `${url}/` },
  { origin: 'null' },
  { origin: '' },
  { 'sec-fetch-site': 'none', origin: 'moz-extension://abc' },
  { 'sec-fetch-site': 'cross-site', origin: url },
];

for (const [method, path, body] of WRITES) {
  t.test(`${method} ${path.replace(id, '{id}')} from another site`, async (t) => {
    const before = contents(dir);
    for (const told of ELSEWHERE) {
      const headers = { 'content-type': 'text/markdown', ...told };
      const reply = await ask(url + path, { method, headers, body });
      t.match(reply, { status: 403, json: { code: 'foreign_form' } }, JSON.stringify(told));
    }
    t.same(contents(dir), before);
  });
}

const OWN: Record<string, string>[] = [
  {},
  { 'sec-fetch-site': 'none' },
  { 'sec-fetch-site': 'same-origin' },
  { origin: url },
  { 'sec-fetch-site': 'same-origin', origin: url },
  // Only a page that the browser loaded from this very address says so, whatever a proxy made of Host.
  { 'sec-fetch-site': 'same-origin', origin: 'https://notes.example' },
  // A proxy that takes https and passes Host on says nothing of the scheme.
  { origin: url.replace('http:', 'https:') },
];
for (const told of OWN) {
  t.test(`a post with ${JSON.stringify(told)} is taken`, async (t) => {
    t.equal((await owner.post('text', told)).status, 201);
  });
}

t.test('the origin of the instance', async (t) => {
  const origins = async (
    env: Record<string, string>,
    rows: [sent: Record<string, string>, status: number][],
  ) => {
    const named = new FeedClient((await start(t, env)).url, 'vole');
    for (const [sent, status] of rows) {
      const reply = await named.post('x', sent);
      t.equal(reply.status, status, `${JSON.stringify(env)} ${JSON.stringify(sent)}`);
      if (status === 403) t.match(reply.json.error, /this instance, which is https?:\/\/[\w.:]+\.$/);
    }
  };
  await origins({ PUBLIC_URL: 'https://notes.example/below' }, [
    [{ origin: 'https://notes.example' }, 201],
    [{ origin: 'https://notes.example:444' }, 403],
    [{ origin: 'http://notes.example' }, 403],
    [{ origin: 'https://other.example' }, 403],
  ]);
  await origins({ PUBLIC_URL: 'http://notes.example' }, [[{ origin: 'https://notes.example' }, 403]]);
  const forwarded = { 'x-forwarded-host': 'notes.example', 'x-forwarded-proto': 'https' };
  await origins({ SERVICE_TRUST_PROXY: '1' }, [
    [{ ...forwarded, origin: 'https://notes.example' }, 201],
    [{ ...forwarded, origin: 'http://notes.example' }, 403],
    [{ ...forwarded, origin: 'https://evil.example' }, 403],
    [{ 'x-forwarded-host': 'notes.example', origin: 'https://notes.example' }, 201],
  ]);
  await origins({}, [[{ ...forwarded, origin: 'https://notes.example' }, 403]]);
});

t.test('reads are not writes', async (t) => {
  const reply = await ask(`${url}/api/v1/feeds/vole/notes`, { headers: { 'sec-fetch-site': 'cross-site' } });
  t.equal(reply.status, 200);
});
