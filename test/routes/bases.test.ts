/** The absolute addresses in answers, and that one client's Host never reaches another. */
import t from 'tap';
import { exactly } from '../support/exact-request.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { untilItRenders } from '../support/rendering.ts';
import { ask, post, start, type TestService } from '../support/service.ts';

/** A feed with a text that refers to a picture; its views that hold addresses. */
async function feed({ url }: TestService): Promise<string[]> {
  const { json } = await post(`${url}/key`, '# Note\n\n![cat](cat.png)', { 'x-read-id': 'read-id' });
  return [
    ...['/r/read-id/feed.xml', '/r/read-id/feed.json', '/api/v1/read/read-id/notes'],
    ...[
      `/api/v1/read/read-id/notes/${json.id}`,
      '/api/v1/feeds/key/notes',
      `/api/v1/feeds/key/notes/${json.id}`,
    ],
  ];
}

/** The bases of the addresses in a text; those of namespaces and the like are no base of ours. */
function basesIn(text: string): string[] {
  const found = text.match(/https?:\/\/[^/"<\s]+(?=\/(?:r|key)\/)/g) ?? [];
  return [...new Set(found)];
}

const service = await start(t);
const { url, port } = service;
await untilItRenders(url);
const paths = await feed(service);

t.test('without PUBLIC_URL addresses follow the Host of each request', async (t) => {
  for (const [host, base] of [
    ['notes.example', 'http://notes.example'],
    ['Notes.Example:8080', 'http://notes.example:8080'],
    ['192.0.2.1', 'http://192.0.2.1'],
    ['[2001:db8::1]:3000', 'http://[2001:db8::1]:3000'],
    ['localhost', 'http://localhost'],
  ] as const)
    for (const path of paths) {
      const { text, status } = await exactly(url + path, { headers: { host } });
      t.equal(status, 200);
      t.strictSame(basesIn(text), [base], `${host} ${path}`);
    }
  const posted = await post(`${url}/key`, 'x');
  t.strictSame(basesIn(posted.text.replace('/key"', '/key/"')), [url]);
});

t.test('200 made-up Hosts see their own base only, and nobody else sees theirs', async (t) => {
  const mine = async () => Promise.all(paths.map(async (path) => (await exactly(url + path)).text));
  const before = await mine();
  await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const path = paths[i % paths.length]!;
      const { text } = await exactly(url + path, { headers: { host: `made-up-${i}.example` } });
      t.strictSame(basesIn(text), [`http://made-up-${i}.example`]);
    }),
  );
  t.strictSame(await mine(), before);
  for (const text of before) t.strictSame(basesIn(text), [url]);
});

t.test('forms of one Host in capitals share an answer', async (t) => {
  const [small, large] = await Promise.all(
    ['a.example', 'A.EXAMPLE'].map((host) => exactly(url + paths[0]!, { headers: { host } })),
  );
  t.equal(small!.headers.etag, large!.headers.etag);
});

t.test('a Host that is none', async (t) => {
  const hosts = [
    ...[
      'a b',
      'a/b',
      'a"b',
      'a<b>',
      '<script>',
      'a@b',
      'a:b:c',
      'a:123456',
      '-a',
      '.',
      '[::1',
      "a'b",
      'a%41',
    ],
    ...['ca\u00e9f', 'a\\b', 'a,b', `${'a'.repeat(254)}`, '[x]', 'a?b', 'a#b', 'a&b'],
  ];
  for (const host of hosts)
    for (const path of paths) {
      const connection = await RawConnection.open(port);
      connection.send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const { status, body } = await connection.response();
      connection.close();
      t.equal(status, 400, `${host} ${path}`);
      t.notOk(body.toString().includes(`"${host}`), 'and it is not repeated');
    }
  const posted = await RawConnection.open(port);
  posted.send(
    'POST /bad-host HTTP/1.1\r\nHost: a b\r\nContent-Type: text/markdown\r\nContent-Length: 1\r\n\r\nx',
  );
  t.equal((await posted.response()).status, 400);
  posted.close();
  t.equal((await ask(`${url}/api/v1/feeds/bad-host`)).status, 404, 'a refused post stores nothing');
});

t.test('forwarded names are believed of a trusted proxy only', async (t) => {
  const forwarded = {
    host: 'inner.example',
    'x-forwarded-host': 'Outer.example',
    'x-forwarded-proto': 'https',
  };
  for (const path of paths) {
    const { text } = await exactly(url + path, { headers: forwarded });
    t.strictSame(basesIn(text), ['http://inner.example']);
  }
  const trusting = await start(t, { SERVICE_TRUST_PROXY: '1' });
  const cases: [Record<string, string>, string][] = [
    [forwarded, 'https://outer.example'],
    [{ host: 'inner.example' }, 'http://inner.example'],
    [{ host: 'inner.example', 'x-forwarded-proto': 'https' }, 'https://inner.example'],
    [{ host: 'inner.example', 'x-forwarded-proto': 'http' }, 'http://inner.example'],
    [{ host: 'inner.example', 'x-forwarded-proto': 'javascript' }, 'http://inner.example'],
    [{ host: 'inner.example', 'x-forwarded-host': 'outer.example:8443' }, 'http://outer.example:8443'],
  ];
  for (const path of await feed(trusting)) {
    for (const [headers, base] of cases)
      t.strictSame(basesIn((await exactly(trusting.url + path, { headers })).text), [base]);
    const bad = { host: 'inner.example', 'x-forwarded-host': 'a"b' };
    t.equal((await exactly(trusting.url + path, { headers: bad })).status, 400);
  }
});

t.test('PUBLIC_URL wins over everything', async (t) => {
  for (const [setting, base] of [
    ['https://notes.example', 'https://notes.example'],
    ['https://notes.example/', 'https://notes.example'],
  ] as const) {
    const fixed = await start(t, { PUBLIC_URL: setting, SERVICE_TRUST_PROXY: '1' });
    const { json } = await post(`${fixed.url}/key`, 'x');
    t.equal(json.feed_url, `${base}/key`);
    for (const path of await feed(fixed)) {
      const address = fixed.url + path.replace('read-id', json.read_url.split('/').at(-2));
      const headers = {
        host: 'other.example',
        'x-forwarded-host': 'outer.example',
        'x-forwarded-proto': 'http',
      };
      const { text, status } = await exactly(address, { headers });
      t.equal(status, 200);
      t.strictSame(basesIn(text), [base], path);
      t.equal((await exactly(address, { headers: { host: 'a b' } })).status, 200, 'the Host does not matter');
    }
  }
});
