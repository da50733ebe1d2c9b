/** Replacing a note by a form, through HTTP, by the note's own address and by the API's. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { contents, type Refused, refusesAll } from '../support/refused.ts';
import { ask, type Reply, start } from '../support/service.ts';

const service = await start(t);
const { url, dir } = service;
const FORM = { 'content-type': FORM_TYPE };

/** A picture under a name, different for each seed. */
function png(name: string, seed = 0): SentPart {
  return file('file', name, 'image/png', picture('png', 64, seed));
}

/** The two paths of a note. */
const PATHS = [
  { kind: 'its own address', feed: 'walrus-one', at: (id: string) => `/walrus-one/${id}` },
  { kind: 'the API', feed: 'walrus-two', at: (id: string) => `/api/v1/feeds/walrus-two/notes/${id}` },
];

for (const { kind, feed, at } of PATHS) {
  const client = new FeedClient(url, feed);

  function put(id: string, parts: readonly SentPart[], headers: Record<string, string> = {}): Promise<Reply> {
    return ask(url + at(id), { method: 'PUT', headers: { ...FORM, ...headers }, body: formBody(parts) });
  }

  t.test(`PUT of a form by ${kind} keeps all but the bytes, and brings pictures`, async (t) => {
    const described = { 'x-note-title': 'Title', 'x-note-tags': 'a,b' };
    const { id, file: name, read_url: readUrl } = (await client.post('before', described)).json;
    const before = (await client.get(`/notes/${id}`)).json;
    const parts = [
      field('text', 'after\r\n![A](2.png)'),
      png('1.png', 1),
      png('2.png', 2),
      field('alt.2.png', 'Two'),
    ];
    const headers = { 'x-note-title': 'Other', 'x-note-tags': 'c' };
    for (const header of ['x-note-alt', 'x-note-name'])
      t.match(await put(id, parts, { [header]: 'a' }), { status: 400, json: { code: 'invalid_request' } });
    const reply = await put(id, parts, headers);
    t.equal(reply.status, 200, reply.text);
    const { attachments, ...note } = reply.json;
    const [first, second] = attachments;
    const content = `after\r\n![A](${second.file})\r\n\r\n![](${first.file})`;
    t.strictSame(note, { ...before, content, size: Buffer.byteLength(content) });
    t.equal(readFileSync(join(dir, feed, name), 'utf8'), content);
    t.strictSame(first, {
      id: first.id,
      url: `${url}/${feed}/${first.id}`,
      feed_url: `${url}/${feed}`,
      read_url: readUrl,
      file: `${first.id}.png`,
      file_url: readUrl.replace('feed.xml', `${first.id}.png`),
    });
    t.ok((await ask(second.file_url)).bytes.equals(picture('png', 64, 2)));
    const { notes } = (await client.list()).json;
    t.match(notes, [
      { id: second.id, alt: 'Two', title: 'Two', name: '2.png', tags: ['c'] },
      { id: first.id, title: '1.png', name: '1.png', tags: ['c'] },
      { id, title: 'Title', tags: ['a', 'b'] },
    ]);
    t.ok((await ask(readUrl)).text.includes(`length="64" type="image/png"`), 'readers see the pictures');
    await client.delete();
  });

  t.test(`PUT of a form by ${kind} may bring only a text`, async (t) => {
    const { id } = (await client.post('before')).json;
    const { status, json } = await put(id, [field('text', '\ufeffafter ![A](none.png)\r\n')]);
    t.equal(status, 200);
    t.strictSame(json.attachments, []);
    t.equal(json.content, '\ufeffafter ![A](none.png)\r\n');
    await client.delete();
  });

  t.test(`the pictures of a text that is replaced by ${kind} stay`, async (t) => {
    const { id, attachments } = (await client.postForm([field('text', 'x'), png('a.png')])).json;
    const kept = attachments[0].file;
    const { json } = await put(id, [field('text', `![old](${kept}) ![new](a.png)`), png('a.png', 1)]);
    t.equal(json.content, `![old](${kept}) ![new](${json.attachments[0].file})`);
    t.equal((await client.list()).json.notes.length, 3);
    t.ok((await ask(attachments[0].file_url)).bytes.equals(picture('png')));
    await client.delete();
  });

  t.test(`of a refused PUT of a form by ${kind} nothing is left`, async (t) => {
    const text = (await client.post('text')).json.id;
    const image = (await client.post(picture('png'), { 'content-type': 'image/png' })).json.id;
    const none = '20260101T000000Z-00000000-0000-7000-8000-000000000000';
    const row = (
      what: string,
      id: string,
      parts: readonly SentPart[],
      status: number,
      code: string,
      word = '',
    ) => ({
      what,
      method: 'PUT',
      path: at(id),
      headers: FORM,
      body: formBody(parts),
      status,
      code,
      word,
    });
    const form = [field('text', 'a'), png('a.png')];
    const rows: Refused[] = [
      row('no text', text, [png('a.png')], 400, 'invalid_body', 'text'),
      row('no text for a picture', image, [png('a.png')], 400, 'invalid_body', 'text'),
      row('nothing', text, [], 400, 'invalid_body'),
      row('a blank text', text, [field('text', ' ')], 400, 'empty_note'),
      row('a text for a picture', image, form, 415, 'unsupported_type'),
      row('only a text for a picture', image, [field('text', 'a')], 415, 'unsupported_type'),
      row('an absent note', none, form, 404, 'not_found'),
      row('a name that is no id', '.readid', form, 404, 'not_found'),
      row(
        'a bad picture',
        text,
        [field('text', 'a'), file('file', 'a', 'image/gif', 'x')],
        415,
        'unsupported_type',
        '"a"',
      ),
      { ...row('a bad tag', text, form, 400, 'invalid_request'), headers: { ...FORM, 'x-note-tags': 'a b' } },
    ];
    const views = [{ path: `/api/v1/feeds/${feed}/notes` }];
    await refusesAll(t, { service, views, secrets: ['walrus'] }, rows);
    await client.delete();
  });
}

t.test('the pictures of a PUT count toward their cap, its text does not toward its own', async (t) => {
  const capped = await start(t, { SERVICE_MAX_NOTES_PER_FEED: '1', SERVICE_MAX_IMAGES_PER_FEED: '2' });
  const client = new FeedClient(capped.url, 'walrus');
  const { id } = (await client.postForm([field('text', 'a'), png('a.png')])).json;
  const put = (parts: readonly SentPart[]) =>
    ask(`${capped.url}/walrus/${id}`, { method: 'PUT', headers: FORM, body: formBody(parts) });
  const before = contents(capped.dir);
  t.match(await put([field('text', 'b'), png('a.png'), png('b.png')]), {
    status: 507,
    json: { code: 'image_limit' },
  });
  t.same(contents(capped.dir), before);
  t.equal((await put([field('text', 'b'), png('a.png')])).status, 200);
  t.match(await put([field('text', 'c'), png('a.png')]), { status: 507, json: { code: 'image_limit' } });
  t.equal((await put([field('text', 'c')])).status, 200);
});

t.test('where pictures are switched off, a PUT may bring a text', async (t) => {
  const first = await start(t);
  const { id } = (await new FeedClient(first.url, 'walrus').post('a')).json;
  await first.stop();
  const strict = await start(t, { SERVICE_IMAGE_UPLOADS: '0' }, first.dir);
  const put = (parts: readonly SentPart[]) =>
    ask(`${strict.url}/walrus/${id}`, { method: 'PUT', headers: FORM, body: formBody(parts) });
  const before = contents(first.dir);
  t.match(await put([field('text', 'b'), png('a.png')]), { status: 403, json: { code: 'images_off' } });
  t.same(contents(first.dir), before);
  t.equal((await put([field('text', 'b')])).status, 200);
});

t.test('forms that replace one note at once leave one of them whole', async (t) => {
  const client = new FeedClient(url, 'race');
  const { id } = (await client.post('before')).json;
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      ask(`${url}/race/${id}`, {
        method: 'PUT',
        headers: FORM,
        body: formBody([field('text', `${i} ![](a.png)`), png('a.png', i)]),
      }),
    ),
  );
  t.ok(replies.every(({ status }) => status === 200));
  const { content } = (await client.get(`/notes/${id}`)).json;
  const last = replies.filter(({ json }) => json.content === content);
  t.equal(last.length, 1);
  t.equal((await client.list()).json.notes.length, 11);
});
