/** What the operator closes or takes down stays so, wherever it comes in again. */
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { field, file } from '../support/multipart.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { unlessBusy } from '../support/searching.ts';
import { ask, post, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

t.setTimeout(600_000);

const PNG = { 'content-type': 'image/png' };
const service = await start(t, WITH_OPERATOR);
const { url } = service;
const takedown = (body: unknown) => operate(url, 'POST', '/takedown', body);
const pathOf = (address: string) => new URL(address).pathname;

/** The paths that show a feed to readers, and something of it. */
function pathsBelow(readId: string, { id, file }: { id: string; file: string }): string[] {
  const [page, api] = [`/r/${readId}`, `/api/v1/read/${readId}`];
  const ofFeed = [
    page,
    `${page}?q=hello`,
    `${page}/feed.xml`,
    `${page}/feed.json`,
    `${page}/events?since=1`,
    `${page}/events?notes=1`,
    api,
  ];
  return [
    ...ofFeed,
    `${api}/notes`,
    `${api}/notes?q=hello`,
    `${api}/tags`,
    `${page}/${id}`,
    `${page}/${file}`,
    `${api}/notes/${id}`,
  ];
}

async function refused(t: Test, paths: readonly string[]) {
  for (const path of paths) {
    const { status, json, headers } = await ask(url + path);
    t.match({ status, json }, { status: 410, json: { code: 'removed' } }, path);
    t.match(headers.get('cache-control'), /no-store/, path);
  }
}

t.test('a closed name takes nothing more, and is read as before by its name alone', async (t) => {
  const feed = new FeedClient(url, 'dunnock');
  const { json } = await feed.post('# Hello', { 'x-note-tags': 'greeting' });
  const readId = readIdIn(json.read_url);
  t.match((await ask(json.read_url)).text, /Hello/);
  const stream = await EventStream.open(t, `${url}/r/${readId}/events`);
  for (let n = 0; n < 2; n += 1) t.equal((await operate(url, 'PUT', '/blocks/dunnock')).status, 204);
  t.ok(await stream.hears(1), 'readers are told');
  for (const reply of [
    await feed.post(),
    await feed.postForm([field('text', 'x')]),
    await feed.put(`/notes/${json.id}`, 'x'),
    await feed.send('PATCH', `/notes/${json.id}`, '{"title":"x"}'),
    await feed.send('PUT', '/notes?key=k', 'x'),
    await feed.set({ title: 'x' }),
    await feed.with({ 'content-type': 'application/zip' }).send('POST', '/import'),
    await feed.send('POST', '/hooks/generic', '{"text":"x"}'),
  ])
    t.match({ status: reply.status, json: reply.json }, { status: 403, json: { code: 'blocked' } });
  for (const path of pathsBelow(readId, json).filter((path) => !path.includes('events'))) {
    const { status, text } = await unlessBusy(() => ask(url + path));
    t.equal(status, path.includes(json.id) ? 404 : 200, path);
    t.notMatch(text, /Hello|greeting/, path);
  }
  t.match((await feed.list()).json.notes, [{ id: json.id }]);
  t.match((await operate(url, 'GET', '/feeds?q=dunnock')).json.feeds, [{ blocked: true }]);
  t.match((await operate(url, 'GET', '/blocks')).json, {
    blocks: [{ kind: 'name', key: 'dunnock' }],
    next: null,
  });

  t.equal((await operate(url, 'DELETE', '/blocks/dunnock')).status, 204);
  t.match((await ask(json.read_url)).text, /Hello/);
  t.equal((await feed.post()).status, 201);
  await operate(url, 'PUT', '/blocks/dunnock');
  t.equal((await feed.send('DELETE', `/notes/${json.id}`)).status, 204);
  t.equal((await feed.delete()).status, 204);
  t.match((await feed.post()).json, { code: 'blocked' }, 'its name stays closed');
  const audit = service.lines.filter(({ fields }) => fields.audit === true).map(({ fields }) => fields.what);
  t.strictSame(audit, ['block name', 'block name', 'unblock name', 'block name']);
});

t.test('a post to a closed name is refused before its body is there', async (t) => {
  await operate(url, 'PUT', '/blocks/closed-early');
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  connection.send(
    'POST /closed-early HTTP/1.1\r\nHost: x\r\nContent-Type: text/markdown\r\nContent-Length: 900\r\n\r\n',
  );
  const { status, body } = await connection.response();
  t.equal(status, 403);
  t.match(String(body), /"blocked"/);
});

t.test('a feed that is taken down with a block is gone for good', async (t) => {
  const feed = new FeedClient(url, 'garganey');
  const { json } = await feed.post('# Gone');
  const readId = readIdIn(json.read_url);
  const paths = pathsBelow(readId, json);
  for (const path of paths.filter((path) => !path.includes('events')))
    t.equal((await unlessBusy(() => ask(url + path))).status, 200, path);
  const stream = await EventStream.open(t, `${url}/r/${readId}/events`);
  const taken = await takedown({ target: json.read_url, block: true });
  t.strictSame([taken.status, taken.json], [200, { removed: 1 }]);
  await refused(t, paths);
  t.ok(await stream.hears(1), 'open pages ask again');
  const page = await ask(`${url}/r/${readId}`, { headers: { accept: 'text/html' } });
  t.equal(page.status, 410);
  t.match(page.text, /<h1>Removed<\/h1>/);
  t.match((await feed.post()).json, { code: 'blocked' });
  t.strictSame(
    (await takedown({ target: `/r/${readId}/`, block: true })).json,
    { removed: 0 },
    'and may be repeated',
  );
  t.equal((await takedown({ target: `/r/${readId}/` })).status, 404);
  t.equal(
    (await takedown({ target: `/r/${readId}/${json.id}`, block: true })).status,
    404,
    'but not of a note',
  );

  const { blocks } = (await operate(url, 'GET', '/blocks')).json;
  t.match(
    blocks.filter(({ key }: { key: string }) => ['garganey', readId].includes(key)),
    [
      { kind: 'name', target: `/r/${readId}` },
      { kind: 'link', target: `/r/${readId}` },
    ],
  );
  t.equal((await operate(url, 'DELETE', `/blocks/links/${readId}`)).status, 204);
  t.equal((await ask(`${url}/r/${readId}`)).status, 200, 'an empty feed, as that of any deleted one');
  await operate(url, 'DELETE', '/blocks/garganey');
  t.equal((await feed.post()).status, 201);
});

t.test('a feed that was merely deleted, or taken down without a block, reads as an empty one', async (t) => {
  const feed = new FeedClient(url, 'gadwall');
  const { json } = await feed.post();
  t.strictSame((await takedown({ target: pathOf(json.read_url) })).json, { removed: 1 });
  t.equal((await ask(`${url}/r/${readIdIn(json.read_url)}`)).status, 200);
  t.equal((await feed.post()).status, 201);
});

t.test('after a crash between the records and the removal the same call does the rest', async (t) => {
  const feed = new FeedClient(url, 'goosander');
  const { json } = await feed.post();
  // What a takedown stores first.
  await operate(url, 'PUT', '/blocks/goosander');
  t.strictSame((await takedown({ target: json.read_url, block: true })).json, { removed: 1 });
  await refused(t, [`/r/${readIdIn(json.read_url)}`]);
});

t.test('a picture whose bytes are blocked is taken nowhere', async (t) => {
  const feed = new FeedClient(url, 'pochard');
  const bad = picture('png', 700, 7);
  const { json } = await feed.post(bad, PNG);
  const other = await feed.post(picture('png', 700, 8), PNG);
  const taken = await takedown({ target: json.file_url, block: true });
  t.strictSame([taken.status, taken.json], [200, { removed: 1 }]);
  const sha256 = hash('sha256', bad, 'base64url');
  const { blocks } = (await operate(url, 'GET', '/blocks?limit=1000')).json;
  t.match(blocks.at(-1), { kind: 'picture', key: sha256, target: pathOf(json.file_url) });

  const another = new FeedClient(url, 'scaup');
  const part = file('file', 'a b.png', 'image/png', bad);
  const form = [
    field('text', '![x](a%20b.png)'),
    file('file', 'ok.png', 'image/png', picture('png', 50)),
    part,
  ];
  for (const [what, reply, sentence] of [
    ['raw', await another.post(bad, PNG), /^The operator/],
    [
      'of unknown type',
      await another.post(bad, { 'content-type': 'application/octet-stream' }),
      /^The operator/,
    ],
    ['in a form', await another.postForm(form), /^attachment "a b.png": the operator/],
    [
      'in place of another',
      await ask(`${feed.record}/notes/${other.json.id}`, { method: 'PUT', body: bad, headers: PNG }),
      /^The operator/,
    ],
    [
      'by a key',
      await ask(`${another.record}/notes?key=k`, { method: 'PUT', body: bad, headers: PNG }),
      /^The/,
    ],
  ] as const)
    t.match(
      { status: reply.status, json: reply.json },
      { status: 451, json: { code: 'blocked', error: sentence } },
      what,
    );
  const tool = await ask(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: {
        name: 'post_file',
        arguments: { feed: 'scaup', data: bad.toString('base64'), type: 'image/png' },
      },
    }),
  });
  t.match(
    tool.text,
    /"isError":true.*The operator has removed this picture|The operator has removed this picture.*"isError":true/,
  );
  t.equal((await another.get()).status, 404, 'and nothing was stored');

  const zip = zipOf([
    { name: 'bad.png', bytes: bad },
    { name: 'good.png', bytes: picture('png', 60) },
  ]);
  const imported = await ask(`${another.record}/import`, {
    method: 'POST',
    body: zip,
    headers: { 'content-type': 'application/zip' },
  });
  t.match(imported.json, { imported: 1, refused: [{ file: 'bad.png', code: 'blocked' }], refused_count: 1 });

  t.equal((await operate(url, 'DELETE', `/blocks/pictures/${sha256}`)).status, 204);
  t.equal((await another.post(bad, PNG)).status, 201);
});

t.test('a note is named by its page or its file, and nothing else is', async (t) => {
  const feed = new FeedClient(url, 'eider');
  const [text, image] = [await feed.post(), await feed.post(picture('gif'), { 'content-type': 'image/gif' })];
  const readId = readIdIn(text.json.read_url);
  for (const [target, code] of [
    [`/r/${readId}/nothing`, 'not_found'],
    [`/r/${readId}/nothing.png`, 'not_found'],
    [`/r/${readId}/%ff`, 'invalid_request'],
    [`/r/${readId}/a/b`, 'invalid_request'],
    ['/r/nobody', 'not_found'],
    ['/r/x', 'invalid_request'],
    ['/eider', 'invalid_request'],
    [`r/${readId}`, 'invalid_request'],
    ['', 'invalid_request'],
  ])
    for (const block of [false, true])
      t.match((await takedown({ target, block })).json, { code }, `${target} ${block}`);
  for (const body of [{}, { file: 'x' }, { target: '/r/x', read_id: 'x' }, { target: 1 }])
    t.match((await takedown(body)).json, { code: 'invalid_body' });
  t.equal((await feed.list()).json.notes.length, 2);
  t.strictSame((await takedown({ target: `/r/${readId}/${image.json.id}`, block: true })).json, {
    removed: 1,
  });
  t.strictSame((await takedown({ target: `/r/${readId}/${text.json.id}`, block: true })).json, {
    removed: 1,
  });
  t.strictSame((await feed.list()).json.notes, []);
  t.equal((await feed.post('another')).status, 201, 'nothing is blocked for a text');
});

t.test('an address of another host means nothing here, if the instance knows its own', async (t) => {
  const { url } = await start(t, { ...WITH_OPERATOR, PUBLIC_URL: 'https://notes.example/below' });
  const posted = await post(`${url}/teal`, 'x');
  const path = `/r/${readIdIn(posted.json.read_url)}`;
  const at = (target: string) => operate(url, 'POST', '/takedown', { target });
  for (const host of ['https://other.example', 'https://notes.example:444', '//other.example'])
    t.match((await at(host + path)).json, { code: 'invalid_request' }, host);
  t.strictSame((await at(posted.json.read_url)).json, { removed: 1 });
  const { json } = await new FeedClient(service.url, 'teal').post();
  const elsewhere = `https://notes.example${pathOf(json.read_url)}`;
  t.strictSame((await takedown({ target: elsewhere })).json, { removed: 1 }, 'this one does not');
});

t.test('each leaves an audit line, and the list of what is closed goes on from kind to kind', async (t) => {
  const first = service.lines.length;
  const feed = new FeedClient(url, 'wigeon');
  const { json } = await feed.post();
  const pictures = [21, 22, 23].map((seed) => picture('png', 300, seed));
  for (const bytes of pictures)
    await takedown({ target: (await feed.post(bytes, PNG)).json.file_url, block: true });
  await operate(url, 'DELETE', `/blocks/pictures/${hash('sha256', pictures[0]!, 'base64url')}`);
  for (let n = 0; n < 2; n += 1) await takedown({ target: json.read_url, block: true });
  const listed: unknown[] = [];
  let after = '';
  do {
    const page = (await operate(url, 'GET', `/blocks?limit=1&after=${after}`)).json;
    listed.push(...page.blocks);
    after = page.next ?? '';
  } while (after !== '' && listed.length < 100);
  t.strictSame(listed, (await operate(url, 'GET', '/blocks?limit=1000')).json.blocks);
  await operate(url, 'DELETE', `/blocks/links/${readIdIn(json.read_url)}`);
  const lines = service.lines.slice(first);
  const made = lines.find(({ message }) => message === 'feed created')!.fields.feed;
  t.strictSame(
    lines.filter(({ fields }) => fields.audit === true).map(({ fields }) => [fields.what, fields.feed]),
    [
      ...pictures.map(() => ['take down note and block', made]),
      ['unblock picture', undefined],
      ['take down feed and block', made],
      ['take down feed and block', undefined],
      ['unblock link', undefined],
    ],
  );
});

t.test(
  'what the files of the reference close is closed',
  { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' },
  async (t) => {
    const bytes = picture('gif');
    const { url, dir } = await start(t, WITH_OPERATOR);
    await writeFile(join(dir, '.tombstones'), 'gone-for-good\n');
    await writeFile(join(dir, '.blocklist'), `${hash('sha256', bytes)}\n`);
    t.ok(await eventually(async () => (await ask(`${url}/r/gone-for-good`)).status === 410));
    const isRefused = async () =>
      (await post(`${url}/merlin`, bytes, { 'content-type': 'image/gif' })).status === 451;
    t.ok(await eventually(isRefused));
    t.match((await operate(url, 'GET', '/blocks')).json.blocks, [
      { kind: 'link', key: 'gone-for-good' },
      { kind: 'picture', key: hash('sha256', bytes, 'base64url') },
    ]);
  },
);
