/** `POST /mcp` as HTTP sees it: who may, from where, what it takes, and what is said of it in logs and metrics. */
import { execFile } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { missing, program } from '../support/installed.ts';
import type { ToolAnswer } from '../support/mcp-clients.ts';
import { picture } from '../support/pictures.ts';
import { ask, type Reply, start, tempDir } from '../support/service.ts';

const run = promisify(execFile);
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const PASSWORD = 'let us in';

const service = await start(t, { SERVICE_METRICS: '1', SERVICE_MAX_IMAGE_BYTES: String(13 * 1024 * 1024) });
const locked = await start(t, { SERVICE_PASSWORD: PASSWORD });

function send(url: string, body: string, headers: Record<string, string> = {}): Promise<Reply> {
  return ask(`${url}/mcp`, { method: 'POST', body, headers: { ...HEADERS, ...headers } });
}

function callOf(name: string, input: object, id = 1): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: input } };
}

/** The results in the events of an answer. */
// biome-ignore lint/suspicious/noExplicitAny: tests read any member of an answer
function resultsIn({ text }: Reply): any[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!).result);
}

async function call(name: string, input: object, url = service.url): Promise<ToolAnswer> {
  const [result] = resultsIn(await send(url, JSON.stringify(callOf(name, input))));
  return { isError: result.isError === true, value: JSON.parse(result.content[0].text) };
}

t.test('other methods are refused, and what is no JSON is a post to a reserved name', async (t) => {
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const reply = await ask(`${service.url}/mcp`, { method });
    t.equal(reply.status, 405, method);
    t.equal(reply.headers.get('allow'), 'POST');
  }
  const note = await ask(`${service.url}/mcp`, {
    method: 'POST',
    body: 'a note',
    headers: { 'content-type': 'text/markdown' },
  });
  t.match(note, { status: 400, json: { code: 'reserved_feed' } });
  for (const body of ['{', '\xff{}', '[1,2'])
    t.match(await send(service.url, body), { status: 400, json: { error: { code: -32700 } } });
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  t.match(await send(service.url, list, { accept: 'application/json' }), { status: 406 });
  const named = await send(service.url, list, { 'mcp-name': Buffer.from('日').toString('latin1') });
  t.match(named, { status: 400, json: { code: 'invalid_request' } });
  const { headers } = await send(service.url, list);
  t.equal(headers.get('cache-control'), 'private, no-store');
  t.equal(headers.get('x-content-type-options'), 'nosniff');
});

t.test('a locked instance says where to get a token', async (t) => {
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const metadata = `resource_metadata="${locked.url}/.well-known/oauth-protected-resource/mcp"`;
  const none = await send(locked.url, list);
  t.match(none, { status: 401, json: { code: 'auth' } });
  t.equal(none.headers.get('www-authenticate'), `Bearer ${metadata}`);
  const wrong = await send(locked.url, list, { authorization: 'Bearer wrong' });
  t.equal(wrong.status, 401);
  t.equal(wrong.headers.get('www-authenticate'), `Bearer error="invalid_token", ${metadata}`);
  t.equal((await send(locked.url, list, { authorization: `Bearer ${PASSWORD}` })).status, 200);
});

t.test('a session of a browser opens no tools', async (t) => {
  const browser = new Browser(locked.url);
  t.equal((await browser.submit('/api/login', { password: PASSWORD })).status, 303);
  t.equal((await browser.fetch('/api/v1/feeds/walrus/notes')).status, 200);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  t.equal((await browser.fetch('/mcp', { method: 'POST', body, headers: HEADERS })).status, 401);
});

t.test('pages of other sites cannot call tools', { skip: missing('curl') }, async (t) => {
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const { port } = service;
  const from = (origin: string, host: string) =>
    new Promise<number>((resolve, reject) => {
      const args = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-d', list];
      for (const [name, value] of Object.entries({ ...HEADERS, origin, host }))
        args.push('-H', `${name}: ${value}`);
      run(program('curl'), [...args, `${service.url}/mcp`]).then(
        ({ stdout }) => resolve(Number(stdout)),
        reject,
      );
    });
  t.equal(await from(`http://127.0.0.1:${port}`, `127.0.0.1:${port}`), 200);
  t.equal(await from(`http://localhost:${port}`, `localhost:${port}`), 200);
  t.equal(await from('http://evil.example', `127.0.0.1:${port}`), 403);
  t.equal(await from('null', `127.0.0.1:${port}`), 403);
  // A page whose name has been led to this machine.
  t.equal(await from(`http://evil.example:${port}`, `evil.example:${port}`), 403);
  const named = await start(t, { PUBLIC_URL: 'https://notes.example/below' });
  for (const [origin, status] of [
    ['https://notes.example', 200],
    ['https://other.example', 403],
    [named.url, 403],
  ] as const)
    t.equal((await send(named.url, list, { origin })).status, status, origin);
  t.equal((await send(named.url, list)).status, 200);
  t.match(await send(named.url, list, { 'sec-fetch-site': 'cross-site' }), {
    status: 403,
    json: { code: 'foreign_form' },
  });
});

t.test('a text is posted as a file, byte for byte', async (t) => {
  const bytes = Buffer.from('\ufeff# A text\r\n');
  const file = { feed: 'texts', type: 'text/markdown', data: bytes.toString('base64') };
  const { isError, value } = await call('post_file', { ...file, name: 'a.md', title: 'T', tags: ['a'] });
  t.notOk(isError);
  t.match(value.file, /\.md$/);
  t.same((await ask(value.file_url)).bytes, bytes);
  const note = await call('get_note', { feed: 'texts', id: value.id });
  t.match(note.value, { title: 'T', tags: ['a'] });
  t.notOk('name' in note.value);
});

t.test('what breaks a rule is refused with the code of the API', async (t) => {
  const feed = 'rules';
  const made = await call('post_note', { feed, markdown: 'x' });
  t.notOk(made.isError);
  const { id } = made.value;
  const png = picture('png').toString('base64');
  const attachment = { name: 'a.png', type: 'image/png', data: png };
  const form = (attachments: object[]) => ['post_note', { feed, markdown: 'x', attachments }] as const;
  const table: readonly (readonly [string, object, string, RegExp?])[] = [
    ['post_note', { feed: 'No', markdown: 'x' }, 'invalid_feed'],
    ['post_note', { feed: 'login', markdown: 'x' }, 'reserved_feed'],
    ['post_note', { feed, markdown: ' \n' }, 'empty_note'],
    ['post_note', { feed, markdown: 'x'.repeat(100 * 1024 + 1) }, 'too_large'],
    ['post_note', { feed, markdown: 'x', title: 'a\nb' }, 'invalid_request', /title/],
    ['post_note', { feed, markdown: 'x', tags: ['a b'] }, 'invalid_request', /tag/],
    ['post_note', { feed, markdown: 1 }, 'invalid_body', /"markdown" must be a text/],
    ['post_note', { markdown: 'x' }, 'invalid_body', /"feed" must be a text/],
    ['post_note', { feed, markdown: 'x', tags: 'a' }, 'invalid_body', /"tags" must be an array/],
    ['post_note', { feed: 'unmade', markdown: 'x', read_id: 'A' }, 'invalid_request', /read id/],
    ['post_note', { feed, markdown: 'x', password: 'p' }, 'feed_exists'],
    ['post_note', { feed: 'unmade', markdown: 'x', password: '' }, 'invalid_request'],
    [...form([{ ...attachment, data: 'no base64!' }]), 'invalid_body', /attachment "a.png": data/],
    [...form([{ ...attachment, type: 'image/gif' }]), 'unsupported_type', /attachment "a.png"/],
    [...form([{ ...attachment, type: 'image/tiff' }]), 'unsupported_type'],
    [...form([attachment, attachment]), 'invalid_body', /two files/],
    [...form([{ ...attachment, name: 'a/b' }]), 'invalid_body', /a\ufffdb/],
    [...form([{ ...attachment, alt: 'a\nb' }]), 'invalid_body', /alternative text/],
    [...form(Array.from({ length: 11 }, (_, i) => ({ ...attachment, name: `${i}.png` }))), 'invalid_body'],
    ['post_file', { feed, type: 'text/markdown', data: png }, 'unsupported_type', /PNG, not a text/],
    ['post_file', { feed, type: 'text/html', data: 'eA==' }, 'unsupported_type', /text\/markdown/],
    ['post_file', { feed, type: '', data: 'eA==' }, 'unsupported_type', /text\/markdown/],
    ['post_file', { feed, type: 'text/markdown', data: 'eA==', alt: 'a' }, 'invalid_request', /alt/],
    ['post_file', { feed, type: 'text/markdown', data: 'IA==' }, 'empty_note'],
    [
      'post_file',
      { feed, type: 'text/markdown', data: Buffer.alloc(102_401, 'x').toString('base64') },
      'too_large',
      /A text/,
    ],
    ['post_file', { feed, type: 'image/gif', data: png }, 'unsupported_type'],
    ['post_file', { feed, type: 'image/png', data: '' }, 'unsupported_type'],
    ['post_file', { feed, type: 'image/png', data: png, alt: 'a\nb' }, 'invalid_request', /alt/],
    ['list_notes', { feed, limit: 0 }, 'invalid_request', /limit/],
    ['list_notes', { feed, limit: 1.5 }, 'invalid_request', /limit/],
    ['list_notes', { feed, before: '/' }, 'invalid_request'],
    ['list_notes', { feed, tag: 'a b' }, 'invalid_request'],
    ['search_notes', { feed, query: '' }, 'invalid_request', /word/],
    ['search_notes', { feed, query: '-a' }, 'invalid_request', /word/],
    ['search_notes', { feed, query: 'a'.repeat(201) }, 'invalid_request', /200/],
    ['search_notes', { feed, query: 'a', limit: 101 }, 'invalid_request', /limit/],
    ['get_note', { feed, id: '..' }, 'not_found'],
    ['get_note', { feed: 'unmade', id }, 'not_found'],
    ['edit_note', { feed, id }, 'invalid_request', /nothing to change/],
    ['edit_note', { feed, id, alt: 'x' }, 'invalid_request'],
    ['edit_note', { feed, id, markdown: 'y', title: 'a\nb' }, 'invalid_request'],
    ['edit_note', { feed, id, markdown: 'y', alt: 'x' }, 'invalid_request'],
    ['edit_note', { feed, id: 'none', markdown: 'y' }, 'not_found'],
    ['delete_note', { feed, id: 'none' }, 'not_found'],
    ['update_feed', { feed }, 'invalid_request', /nothing to change/],
    ['update_feed', { feed, image: 'none.png' }, 'invalid_request'],
    ['update_feed', { feed, read_id: feed }, 'invalid_request'],
    ['update_feed', { feed: 'unmade', title: 'x' }, 'not_found'],
    ['delete_feed', { feed: 'unmade' }, 'not_found'],
  ];
  for (const [name, input, code, sentence = /./] of table) {
    const { isError, value } = await call(name, input);
    t.match({ isError, ...value }, { isError: true, code, error: sentence }, `${name} ${code}`);
    t.same(Object.keys(value), ['error', 'code']);
  }
  t.match(await call('get_note', { feed, id }), { value: { content: 'x' } }, 'nothing has changed');
  t.same((await call('list_notes', { feed: 'unmade' })).value, { notes: [], next: null });
  t.same((await call('search_notes', { feed: 'unmade', query: 'a' })).value, { notes: [], next: null });
});

t.test('a text that is longer than any rule allows is refused before it is looked at', async (t) => {
  const feed = 'lengths';
  const { id } = (await call('post_note', { feed, markdown: 'x' })).value;
  const long = 'é'.repeat(16_385);
  const note = { feed, markdown: 'x' };
  const data = picture('png').toString('base64');
  const file = { feed, type: 'image/png', data };
  const table: readonly (readonly [string, object, string])[] = [
    ['get_feed', { feed: long }, 'feed'],
    ['get_feed', { feed, password: long }, 'password'],
    ['post_note', { ...note, title: long }, 'title'],
    ['post_note', { ...note, tags: ['a', long] }, 'tags.1'],
    ['post_note', { ...note, attachments: [{ name: long, type: 'image/png', data }] }, 'attachments.0.name'],
    ['post_note', { ...note, attachments: [{ name: 'a.png', type: long, data }] }, 'attachments.0.type'],
    ['post_file', { ...file, name: long }, 'name'],
    ['post_file', { ...file, type: long }, 'type'],
    ['search_notes', { feed, query: long }, 'query'],
    ['list_notes', { feed, before: long }, 'before'],
    ['get_note', { feed, id: long }, 'id'],
    ['edit_note', { feed, id, alt: long }, 'alt'],
    ['update_feed', { feed, description: long }, 'description'],
  ];
  for (const [name, input, argument] of table) {
    const error = `The argument "${argument}" must be a text of at most 16384 characters (UTF-16 units).`;
    t.same(await call(name, input), { isError: true, value: { error, code: 'invalid_body' } });
  }
  const longest = await call('post_note', { feed, markdown: 'x'.repeat(100 * 1024) });
  t.notOk(longest.isError);
  const cut = await call('post_file', { ...file, name: 'é'.repeat(16_384) });
  const stored = await call('get_note', { feed, id: cut.value.id });
  t.equal(stored.value.name, 'é'.repeat(200));
});

t.test('a tool that there is not is an error of the protocol', async (t) => {
  const reply = await send(service.url, JSON.stringify(callOf('make_tea', {})));
  t.match(reply.text, /"code":-32602/);
});

t.test('whoever wants to hear of changes is told at once that there are none', async (t) => {
  const method = 'subscriptions/listen';
  const revision = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { notifications: { toolsListChanged: true }, _meta };
  const headers = { 'mcp-protocol-version': revision, 'mcp-method': method };
  const reply = await send(service.url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers);
  t.equal(reply.status, 200);
  t.match(resultsIn(reply).at(-1), { resultType: 'complete' });
});

t.test('several messages at once are answered, but not any number', async (t) => {
  const batch = (size: number) =>
    JSON.stringify(Array.from({ length: size }, (_, id) => callOf('get_feed', { feed: 'rules' }, id)));
  t.equal(resultsIn(await send(service.url, batch(20))).length, 20);
  t.match(await send(service.url, batch(21)), { status: 400, json: { error: { code: -32600 } } });
  const twice = JSON.stringify([callOf('get_feed', { feed: 'rules' }, 1), callOf('get_feed', {}, 1)]);
  t.match(await send(service.url, twice), { status: 400, json: { error: { code: -32600 } } });
});

t.test('a request may have many letters, but not many values', async (t) => {
  const meta = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
  const list = (count: number) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta(count) } });
  t.equal((await send(service.url, list(1_000))).status, 200);
  t.match(await send(service.url, list(2_000)), { status: 400, json: { error: { code: -32700 } } });
});

t.test('white space in base64 takes hardly any time, wherever it is', async (t) => {
  const costOf = async (data: string) => {
    const body = JSON.stringify(callOf('post_file', { feed: 'spaces', type: 'image/png', data }));
    const before = process.threadCpuUsage();
    const [result] = resultsIn(await send(service.url, body));
    const { user, system } = process.threadCpuUsage(before);
    t.match(result.content[0].text, /The bytes are not PNG/);
    return user + system;
  };
  await costOf('A');
  const usual = await costOf('A'.repeat(12_000_000));
  t.ok((await costOf('A '.repeat(6_000_000))) < 3 * usual);
  const right = picture('png').toString('base64');
  const spaced = ` ${right.replace(/(.{7})/g, '$1 \r\n')}\n`;
  t.match(await call('post_file', { feed: 'spaces', type: 'image/png', data: spaced }), { isError: false });
  for (const data of [`${right}!`, 'AA=A', 'A===', 'AA= =\n='])
    t.match(await call('post_file', { feed: 'spaces', type: 'image/png', data }), {
      isError: true,
      value: { code: 'invalid_body' },
    });
});

t.test('an id has a limit, because the answer repeats it', async (t) => {
  const list = (length: number) => ({ jsonrpc: '2.0', id: 'x'.repeat(length), method: 'tools/list' });
  t.match(await send(service.url, JSON.stringify(list(1_000))), { status: 200, text: 'x'.repeat(1_000) });
  for (const long of [
    list(1_001),
    [list(1), list(1_001)],
    { jsonrpc: '2.0', id: 'x'.repeat(1_001), result: {} },
  ])
    t.match(await send(service.url, JSON.stringify(long)), {
      status: 400,
      json: { error: { code: -32600 } },
    });
});

t.test('the results of one request have a limit together', async (t) => {
  const feed = 'long-texts';
  for (let n = 0; n < 11; n += 1) await call('post_note', { feed, markdown: 'x'.repeat(100_000) });
  const calls = [1, 2, 3, 4, 5, 6, 7].map((id) => callOf('list_notes', { feed, limit: 100 }, id));
  const results = resultsIn(await send(service.url, JSON.stringify(calls)));
  const isRefused = ({ content }: { content: { text: string }[] }) =>
    /"code":"too_large"/.test(content[0]!.text);
  const refused = results.map(isRefused);
  t.same([refused[0], refused[6]], [false, true], `${refused}`);
  t.equal((await call('list_notes', { feed, limit: 100 })).isError, false);
});

t.test('a large body is read as a small one is', async (t) => {
  const notJson = await send(service.url, `{"long": "${'x'.repeat(300_000)}`);
  const notUtf8 = await ask(`${service.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new Uint8Array(300_000).fill(0xff),
  });
  const tooMany = await send(service.url, JSON.stringify({ list: Array(150_000).fill(1) }));
  for (const refused of [notJson, notUtf8, tooMany])
    t.match(refused, { status: 400, json: { error: { code: -32700 } } });
  const deep = `${'['.repeat(1_900)}${']'.repeat(1_900)}`;
  const call = JSON.stringify(callOf('post_note', { feed: 'deep', markdown: 'é'.repeat(40_000) }));
  const padded = call.replace(
    '"params":{',
    `"params":{"_meta":{"deep":${deep},"long":"${'日'.repeat(100_000)}"},`,
  );
  t.match(resultsIn(await send(service.url, padded))[0], { structuredContent: { read_url: /feed/ } });
});

t.test('a list of long texts goes on at its next', async (t) => {
  const feed = 'long-lists';
  for (const text of ['a', 'b', 'c']) await call('post_note', { feed, markdown: text.repeat(100_000) });
  const pages: string[][] = [];
  let before: string | undefined;
  do {
    const { notes, next } = (await call('list_notes', { feed, before })).value;
    pages.push(notes.map(({ content }: { content: string }) => content[0]!));
    before = next ?? undefined;
  } while (before !== undefined);
  t.same(pages, [['c', 'b'], ['a']]);
});

t.test(
  'a call that is cancelled in the same request is answered, so it holds nothing for good',
  async (t) => {
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const batch = [callOf('get_feed', { feed: 'unmade', padding: 'x'.repeat(300_000) }), cancelled];
    // More of these than large bodies that are handled at once.
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => send(service.url, JSON.stringify(batch))),
    );
    for (const reply of replies) t.match(resultsIn(reply), [{ isError: true }]);
  },
);

t.test('a picture of 11 MB is taken, a body of more than 16 MiB or of many values is not', async (t) => {
  const large = picture('png', 11_000_000);
  const posted = await call('post_file', {
    feed: 'large',
    type: 'image/png',
    data: large.toString('base64'),
  });
  t.ok((await ask(posted.value.file_url)).bytes.equals(large));
  const data = Buffer.alloc(12_600_000).toString('base64');
  t.match(await send(service.url, JSON.stringify(callOf('post_file', { data }))), {
    status: 413,
    json: { code: 'too_large' },
  });
  const small = await start(t, { SERVICE_MAX_IMAGE_BYTES: '1000' });
  t.equal((await send(small.url, ' '.repeat(180_000))).status, 413, 'nor one longer than a form may be');
  t.match(await send(service.url, `[${'[],'.repeat(200_000)}1]`), { json: { error: { code: -32700 } } });
  const commas = await call('post_note', { feed: 'large', markdown: ','.repeat(100_000) });
  t.notOk(commas.isError);
});

t.test('writes by tools and by the API count together', async (t) => {
  const { url } = await start(t, { SERVICE_RATE_LIMIT: '3' });
  const post = () => call('post_note', { feed: 'counted', markdown: 'x' }, url);
  t.notOk((await post()).isError);
  t.notOk((await call('list_notes', { feed: 'counted' }, url)).isError);
  const headers = { 'content-type': 'text/markdown' };
  t.equal((await ask(`${url}/counted`, { method: 'POST', body: 'x', headers })).status, 201);
  t.notOk((await post()).isError);
  t.match(await post(), { isError: true, value: { code: 'rate_limited', error: /wait \d+ second/ } });
});

t.test('each tool that changes something counts as a write', async (t) => {
  const { url } = await start(t, { SERVICE_RATE_LIMIT: '1', SERVICE_TRUST_PROXY: '1' });
  const feed = 'counted';
  const from = async (client: number, name: string, input: object) => {
    const body = JSON.stringify(callOf(name, { feed, ...input }));
    return resultsIn(await send(url, body, { 'x-forwarded-for': `192.0.2.${client}` }))[0];
  };
  const { id } = (await from(0, 'post_note', { markdown: 'x' })).structuredContent;
  const writes: readonly (readonly [string, object])[] = [
    ['post_file', { type: 'text/markdown', data: 'eA==' }],
    ['edit_note', { id, title: 'T' }],
    ['delete_note', { id }],
    ['update_feed', { title: 'T' }],
    ['delete_feed', {}],
  ];
  for (const [n, [name, input]] of writes.entries()) {
    t.notOk((await from(n + 1, name, input)).isError, name);
    const { content } = await from(n + 1, 'post_note', { markdown: 'x' });
    t.match(content[0].text, /"rate_limited"/, name);
  }
});

t.test('a tool that fails by the service is logged with why', async (t) => {
  const dir = join(await tempDir(t), 'data');
  const { url, lines } = await start(t, { SERVICE_STORAGE: 'fs', SERVICE_LOG_REQUESTS: '0' }, dir);
  await rename(dir, `${dir}-away`);
  const { value } = await call('post_note', { feed: 'away', markdown: 'x' }, url);
  t.match(value, { code: 'store_unavailable' });
  const told = lines.filter(({ message }) => message === 'tool');
  t.match(told, [{ level: 'error', fields: { code: 'store_unavailable', err: { message: String } } }]);
});

t.test('the log and the metrics tell of tools, and of no argument', async (t) => {
  const feed = 'a-secret-name';
  await call('post_note', { feed, markdown: 'a secret text', password: 'a secret password' });
  await call('get_feed', { feed, password: 'a wrong password' });
  const tools = service.lines.filter(({ message }) => message === 'tool').slice(-2);
  t.match(
    tools.map(({ fields }) => fields),
    [
      { tool: 'post_note', request: String, ms: Number },
      { tool: 'get_feed', code: 'auth' },
    ],
  );
  t.notMatch(JSON.stringify(service.lines), /secret|wrong password/);
  const { text } = await ask(`${service.url}/metrics`);
  t.match(text, /service_tool_duration_seconds_count\{tool="post_note",outcome="ok"\} [1-9]/);
  t.match(text, /service_tool_duration_seconds_count\{tool="get_feed",outcome="auth"\} 1/);
  t.notMatch(text, /make_tea|secret/);
});

t.test('the suite of conformance and the inspector are content', async (t) => {
  const program = (name: string) => join(import.meta.dirname, '../../node_modules/.bin', name);
  const scenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];
  const { HOME = '', PATH = '' } = process.env;
  const options = { env: { HOME, PATH }, cwd: service.dir };
  const node = process.execPath;
  await Promise.all(
    scenarios.map(async (scenario) => {
      const args = ['server', '--url', `${service.url}/mcp`, '--scenario', scenario];
      const { stdout } = await run(node, [program('conformance'), ...args], options);
      t.match(stdout, /Passed: ([1-9])\/\1, 0 failed, 0 warnings/, scenario);
    }),
  );
  const args = ['--cli', `${service.url}/mcp`, '--transport', 'http', '--method', 'tools/call'];
  const input = ['--tool-name', 'post_note', '--tool-arg', 'feed=inspected', 'markdown=hello'];
  const { stdout } = await run(node, [program('mcp-inspector'), ...args, ...input], options);
  const { structuredContent } = JSON.parse(stdout);
  t.equal((await ask(structuredContent.file_url)).text, 'hello');
});
