/** A picture that came with a text is shown in it alone, as long as the text is there and shows it. */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { untilItRenders } from '../support/rendering.ts';
import { ask, start } from '../support/service.ts';

const { url } = await start(t);
await untilItRenders(url);

const png = (name: string): SentPart => file('file', name, 'image/png', picture('png'));
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

interface Made {
  readonly id: string;
  readonly file: string;
  readonly file_url: string;
  readonly read_url: string;
}

/** Posts a text with pictures, which it shows. */
async function posted(client: FeedClient, text: string, names: readonly string[], headers = {}) {
  const { json } = await client.postForm([field('text', text), ...names.map(png)], headers);
  return { ...(json as Made), attachments: json.attachments as readonly Made[] };
}

/** The ids of the notes in a page, each as often as it is there. */
const idsInPage = async (path: string) => {
  const { text } = await ask(url + path);
  return [...text.matchAll(/id="n-([^"]+)"/g)].map(([, id]) => id);
};

/** The ids of the notes that a feed shows, newest first. Checks that its pages, RSS and JSON Feed show the same ones. */
async function shownIds(t: Test, client: FeedClient, query = ''): Promise<(string | undefined)[]> {
  const readId = readIdIn((await client.get()).json.read_url);
  const ids = await idsInPage(`/r/${readId}${query}`);
  const rss = (await ask(`${url}/r/${readId}/feed.xml${query}`)).text;
  t.same(await idsInPage(`/${client.name}${query}`), ids, 'the page for writers');
  t.same(
    [...rss.matchAll(/<link>[^<]*\/r\/[^/]+\/([^<]+)<\/link>/g)].map(([, id]) => id),
    ids,
    'RSS',
  );
  const { items } = (await ask(`${url}/r/${readId}/feed.json${query}`)).json;
  t.same(
    items.map(({ url }: { url: string }) => url.split('/').at(-1)),
    ids,
    'JSON Feed',
  );
  return ids;
}

/** What the lists of both sides say that each note came with, and its own JSON. */
async function attachedTo(t: Test, client: FeedClient): Promise<Record<string, string | undefined>> {
  const readId = readIdIn((await client.get()).json.read_url);
  const named = (await client.list('?limit=100')).json.notes;
  const read = (await ask(`${url}/api/v1/read/${readId}/notes?limit=100`)).json.notes;
  const ids = (notes: readonly Record<string, string>[]) =>
    Object.fromEntries(notes.map(({ id, attached_to }) => [id, attached_to]));
  t.same(ids(read), ids(named));
  for (const { id, attached_to } of named) {
    t.equal((await client.get(`/notes/${id}`)).json.attached_to, attached_to);
    t.equal((await ask(`${url}/api/v1/read/${readId}/notes/${id}`)).json.attached_to, attached_to);
  }
  return ids(named);
}

t.test('once while the text shows it, by itself when it does not', async (t) => {
  const client = new FeedClient(url, 'heron');
  const text = await posted(client, '# Heron\n\n![A](a.png) and ![B](b.png)', ['a.png', 'b.png']);
  const [a, b] = [text.attachments[0]!, text.attachments[1]!];
  const all = { [a.id]: text.id, [b.id]: text.id, [text.id]: undefined };
  t.same(await shownIds(t, client), [text.id]);
  t.same(await attachedTo(t, client), all);

  const edit = (content: string) => client.put(`/notes/${text.id}`, content);
  await edit(`![B](${b.file}) and [a link](${a.file}), \`![](${a.file})\``);
  t.same(await shownIds(t, client), [text.id, a.id]);
  t.same(await attachedTo(t, client), { ...all, [a.id]: undefined });

  await edit(`![A](${a.file_url})`);
  t.same(await shownIds(t, client), [text.id, b.id], 'by its whole address');

  await edit(`![A](${a.file}) ![B](${b.file})`);
  t.same(await shownIds(t, client), [text.id]);
  t.same(await attachedTo(t, client), all);

  await client.send('PATCH', `/notes/${a.id}`, '{"title":"Seen"}').then(({ json }) => {
    t.match(json, { title: 'Seen', attached_to: text.id });
  });

  await client.send('DELETE', `/notes/${text.id}`);
  t.same(await shownIds(t, client), [b.id, a.id]);
  t.same(await attachedTo(t, client), { [a.id]: undefined, [b.id]: undefined });
});

t.test('RSS has the first as enclosure, JSON Feed all', async (t) => {
  const client = new FeedClient(url, 'egret');
  const text = await posted(client, '![B](b.png) and ![A](a.png)', ['a.png', 'b.png', 'c.png']);
  const [a, b, c] = text.attachments as [Made, Made, Made];
  const rss = (await ask(text.read_url)).text;
  t.same(
    [...rss.matchAll(/<enclosure [^>]*>/g)].map(([tag]) => tag),
    [`<enclosure url="${b.file_url}" length="64" type="image/png"/>`],
  );
  const { items } = (await ask(text.read_url.replace('.xml', '.json'))).json;
  t.equal(items.length, 1);
  t.equal(items[0].image, b.file_url);
  t.same(
    items[0].attachments,
    [b, a, c].map(({ file_url }, n) => {
      const title = `${'bac'[n]}.png`;
      return { url: file_url, mime_type: 'image/png', title, size_in_bytes: 64 };
    }),
  );
});

t.test('a text that shows a picture of another post leaves it where it is', async (t) => {
  const client = new FeedClient(url, 'stork');
  const other = (await client.post(picture('png'), { 'content-type': 'image/png' })).json;
  const text = (await client.post(`![](${other.file})`)).json;
  t.same(await shownIds(t, client), [text.id, other.id]);
  t.notMatch((await ask(text.read_url.replace('.xml', '.json'))).json.items[0], { attachments: [{}] });
});

t.test('pictures that come with an edit', async (t) => {
  const client = new FeedClient(url, 'crane');
  const first = (await client.post('first')).json;
  const second = (await client.post('second')).json;
  const replaced = await client.putForm(first.id, [field('text', 'now ![](a.png)'), png('a.png')]);
  const [a] = replaced.json.attachments;
  t.same(await shownIds(t, client), [second.id, first.id]);
  t.match(await attachedTo(t, client), { [a.id]: first.id });
  const { items } = (await ask(first.read_url.replace('.xml', '.json'))).json;
  t.match(items[1].attachments, [{ url: a.file_url }]);
});

t.test('pictures that come with a text under its key', async (t) => {
  const client = new FeedClient(url, 'ibis');
  const put = async (text: string) => {
    const body = formBody([field('text', text), png('a.png')]);
    const headers = { 'content-type': FORM_TYPE };
    return (await ask(`${client.record}/notes?key=daily`, { method: 'PUT', body, headers })).json;
  };
  const before = await put('one ![](a.png)');
  t.same(await shownIds(t, client), [before.id]);
  const after = await put('two ![](a.png)');
  t.equal(after.id, before.id);
  const [old, young] = [before.attachments[0].id, after.attachments[0].id];
  t.same(await shownIds(t, client), [before.id, old]);
  t.match(await attachedTo(t, client), { [young]: before.id, [old]: undefined });
});

t.test('a text expires', async (t) => {
  const client = new FeedClient(url, 'mayfly');
  const text = await posted(client, '![](a.png)', ['a.png']);
  const [a] = text.attachments as [Made];
  const newer = (await client.post('newer')).json;
  const at = inSeconds(3);
  await client.send('PATCH', `/notes/${text.id}`, JSON.stringify({ expires: at }));
  t.same(await shownIds(t, client), [newer.id, text.id]);
  t.match(await attachedTo(t, client), { [a.id]: text.id });
  const readId = readIdIn(text.read_url);
  const notePage = await ask(`${url}/r/${readId}/${newer.id}`);
  t.notMatch(notePage.text, a.id);
  t.ok(await eventually(async () => Date.now() > Date.parse(at)));
  t.same(await shownIds(t, client), [newer.id, a.id]);
  t.match(await attachedTo(t, client), { [a.id]: undefined });
});

t.test('a view ends with a text that is not in it', async (t) => {
  const client = new FeedClient(url, 'dayfly');
  const text = await posted(client, '![](a.png)', ['a.png']);
  const [a] = text.attachments as [Made];
  const readId = readIdIn(text.read_url);
  const at = inSeconds(3);
  await client.send('PATCH', `/notes/${text.id}`, JSON.stringify({ expires: at }));
  const list = `${url}/api/v1/read/${readId}/notes?limit=1&before=${text.id}`;
  t.match((await ask(list)).json.notes, [{ id: a.id, attached_to: text.id }]);
  const alone = `${url}/api/v1/read/${readId}/notes/${a.id}`;
  t.equal((await ask(alone)).json.attached_to, text.id);
  t.match((await ask(alone)).headers.get('cache-control'), /max-age=0, must-revalidate/);
  t.ok(await eventually(async () => Date.now() > Date.parse(at)));
  t.notOk('attached_to' in (await ask(alone)).json);
  t.notOk('attached_to' in (await ask(list)).json.notes[0]);
});

t.test('a view ends with a picture that its text shows, and with a note that is behind one', async (t) => {
  const client = new FeedClient(url, 'caddisfly');
  const soon = inSeconds(50);
  const older = (await client.post('older', { 'x-note-expires': soon })).json;
  const text = await posted(client, '![](a.png)', ['a.png']);
  const page = `${url}/r/${readIdIn(text.read_url)}/${text.id}`;
  const endsSoon = async (address: string) =>
    t.match((await ask(address)).headers.get('cache-control'), /max-age=0, must-revalidate/, address);
  t.match((await ask(page)).text, older.id);
  await endsSoon(page);
  await client.send('DELETE', `/notes/${older.id}`);
  await client.send('PATCH', `/notes/${text.attachments[0]!.id}`, JSON.stringify({ expires: soon }));
  for (const address of [page, text.read_url, text.read_url.replace('.xml', '.json')])
    await endsSoon(address);
  t.equal((await ask(page)).headers.get('x-note-expires'), soon);
});

t.test('in a feed filtered by a tag a picture is left out only if its text is there', async (t) => {
  const client = new FeedClient(url, 'bittern');
  const text = await posted(client, '![](a.png)', ['a.png'], { 'x-note-tags': 'reed' });
  const [a] = text.attachments as [Made];
  t.same(await shownIds(t, client, '?tag=reed'), [text.id]);
  await client.send('PATCH', `/notes/${text.id}`, '{"tags":["pond"]}');
  t.same(await shownIds(t, client, '?tag=reed'), [a.id]);
  t.same(await shownIds(t, client, '?tag=pond'), [text.id]);
  t.same(await shownIds(t, client), [text.id]);
  const { items } = (await ask(`${text.read_url.replace('.xml', '.json')}?tag=pond`)).json;
  t.match(items[0].attachments, [{ url: a.file_url }], 'although the picture has another tag');
});

t.test('60 posts with 3 pictures each fill two pages', async (t) => {
  const client = new FeedClient(url, 'flock');
  const texts: string[] = [];
  for (let n = 0; n < 60; n += 1) {
    const { id } = await posted(client, `${n} ![](a.png) ![](b.png) ![](c.png)`, ['a.png', 'b.png', 'c.png']);
    texts.unshift(id);
  }
  t.same(await shownIds(t, client), texts.slice(0, 50));
  const readId = readIdIn((await client.get()).json.read_url);
  const next = async (path: string) => /href="\?before=([^"]+)"/.exec((await ask(url + path)).text)?.[1];
  for (const path of ['/flock', `/r/${readId}`]) {
    const older = `${path}?before=${await next(path)}`;
    t.same(await idsInPage(older), texts.slice(50));
    t.equal(await next(older), undefined, 'no page of nothing');
  }
  for (const seen of await attachedTo(t, client).then(Object.entries))
    t.equal(texts.includes(seen[0]), seen[1] === undefined);
  const { items } = (await ask(`${url}/r/${readId}/feed.json`)).json;
  for (const { attachments } of items) t.equal(attachments?.length, 3);
});

t.test('the last text of a page of 50 has its pictures on the next', async (t) => {
  const client = new FeedClient(url, 'border');
  const text = await posted(client, 'the border ![](a.png)', ['a.png']);
  for (let n = 1; n < 50; n += 1) await client.post(`${n}`);
  const ids = await shownIds(t, client);
  t.equal(ids.length, 50);
  t.equal(ids.at(-1), text.id);
  const { items } = (await ask(text.read_url.replace('.xml', '.json'))).json;
  t.match(items.at(-1).attachments, [{ url: text.attachments[0]!.file_url }]);
});

t.test('pictures of long texts, newer than all of these, leave no feed and no page empty', async (t) => {
  const client = new FeedClient(url, 'swan');
  const texts: string[] = [];
  for (let n = 0; n < 15; n += 1) texts.unshift((await client.post(`text ${n}`)).json.id);
  const names = ['a.png', 'b.png', 'c.png', 'd.png'];
  const long = `${names.map((name) => `![](${name})`).join(' ')}\n\n${'word '.repeat(18_000)}`;
  for (const id of texts) await client.putForm(id, [field('text', long), ...names.map(png)]);
  t.same(await shownIds(t, client), texts.slice(0, 11));
});

t.test('the neighbours of a note are shown notes', async (t) => {
  const client = new FeedClient(url, 'rail');
  const oldest = (await client.post('oldest')).json;
  const text = await posted(client, '![](a.png) ![](b.png)', ['a.png', 'b.png']);
  const newest = (await client.post('newest')).json;
  const readId = readIdIn(text.read_url);
  /** The older one and the newer one. */
  const around = async (id: string) => {
    const links = async (path: string) => {
      const { text: page } = await ask(url + path);
      const link = (rel: string) => new RegExp(`<a rel="${rel}" href="[^"]*/([^"/]+)"`).exec(page)?.[1];
      return [link('next'), link('prev')];
    };
    const read = await links(`/r/${readId}/${id}`);
    t.same(await links(`/rail/${id}`), read);
    return read;
  };
  const [a, b] = text.attachments as [Made, Made];
  t.same(await around(oldest.id), [undefined, text.id]);
  t.same(await around(text.id), [oldest.id, newest.id]);
  t.same(await around(newest.id), [text.id, undefined]);
  t.same(await around(b.id), [oldest.id, text.id]);
  await client.put(`/notes/${text.id}`, `![](${a.file})`);
  t.same(await around(text.id), [b.id, newest.id]);
  t.same(await around(oldest.id), [undefined, b.id]);
});
