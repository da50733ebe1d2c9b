/** Posting a text with its pictures as a form, through HTTP. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { contents } from '../support/refused.ts';
import { untilItRenders } from '../support/rendering.ts';
import { ask, type Reply, start } from '../support/service.ts';

const service = await start(t, { SERVICE_MAX_IMAGE_BYTES: '300000' });
const { url, dir } = service;

/** A picture under a name, different for each seed. */
function png(name: string, seed = 0, size = 64): SentPart {
  return file('file', name, 'image/png', picture('png', size, seed));
}

/** The notes that a feed lists, newest first. */
async function notesOf(client: FeedClient) {
  return (await client.list('?limit=100')).json.notes;
}

/** Fails unless these are the fields of a note that was made, and they agree with each other. */
function isCreated(t: Test, made: Record<string, string>, feed: string, ending: string): void {
  const { id, read_url: readUrl } = made;
  const expected = {
    id,
    url: `${url}/${feed}/${id}`,
    feed_url: `${url}/${feed}`,
    read_url: readUrl,
    file: `${id}.${ending}`,
    file_url: readUrl?.replace('feed.xml', `${id}.${ending}`),
  };
  t.strictSame(made, expected);
}

for (const [i, path] of ['otter-0', 'otter-1/', 'api/v1/feeds/otter-2/notes'].entries()) {
  t.test(`POST /${path} stores a text with its pictures`, async (t) => {
    const feed = `otter-${i}`;
    const [near, far] = [picture('webp', 70_000), picture('jpg', 250_000)];
    const text = '\ufeff# Größe\r\n\r\n![A](<größe 1.webp>)\tand `![A](<größe 1.webp>)` 😀';
    const body = formBody([
      file('file', 'größe 1.webp', 'image/webp', near),
      field('text', text),
      file('file', 'far.jpg', 'image/jpeg', far),
    ]);
    const headers = { 'content-type': FORM_TYPE };
    const reply = await ask(`${url}/${path}`, { method: 'POST', headers, body });
    t.equal(reply.status, 201, reply.text);
    const { attachments, ...made } = reply.json;
    isCreated(t, made, feed, 'md');
    isCreated(t, attachments[0], feed, 'webp');
    isCreated(t, attachments[1], feed, 'jpg');
    t.equal(attachments.length, 2);
    t.equal(reply.headers.get('location'), made.url);

    const [first, second] = attachments.map((one: { file: string }) => one.file);
    const stored = `\ufeff# Größe\r\n\r\n![A](<${first}>)\tand \`![A](<größe 1.webp>)\` 😀\r\n\r\n![](${second})`;
    t.equal(readFileSync(join(dir, feed, made.file), 'utf8'), stored);
    t.ok((await ask(made.file_url)).bytes.equals(Buffer.from(stored)));
    t.ok((await ask(attachments[0].file_url)).bytes.equals(near));
    t.ok(readFileSync(join(dir, feed, second)).equals(far));
  });
}

t.test('a form of only a text is like a post of that text', async (t) => {
  const text = '\ufeffa ![b](c.png)\r\n\r\n';
  for (const part of [field('text', text), file('text', 'note.md', 'text/markdown', text)]) {
    const { status, json } = await new FeedClient(url, 'text-only').postForm([part]);
    t.equal(status, 201);
    const { attachments, ...made } = json;
    t.strictSame(attachments, []);
    isCreated(t, made, 'text-only', 'md');
    t.equal(readFileSync(join(dir, 'text-only', json.file), 'utf8'), text);
  }
});

t.test('a form of only pictures is answered with the first one', async (t) => {
  const { status, json } = await new FeedClient(url, 'pictures-only').postForm([
    png('b.png'),
    png('a.png', 1),
  ]);
  t.equal(status, 201);
  const { attachments, ...made } = json;
  t.equal(attachments.length, 2);
  t.strictSame(made, attachments[0]);
  isCreated(t, made, 'pictures-only', 'png');
  isCreated(t, attachments[1], 'pictures-only', 'png');
  t.ok((await ask(made.file_url)).bytes.equals(picture('png')));
  t.ok((await ask(attachments[1].file_url)).bytes.equals(picture('png', 64, 1)));
});

t.test('a raw post is answered without attachments', async (t) => {
  t.notOk('attachments' in (await new FeedClient(url, 'raw').post('x')).json);
});

t.test('a blank text is filled with its pictures', async (t) => {
  const { status, json } = await new FeedClient(url, 'blank').postForm([field('text', ' '), png('a.png')]);
  t.equal(status, 201);
  t.match((await ask(json.file_url)).text, new RegExp(`!\\[\\]\\(${json.attachments[0].file}\\)`));
});

t.test('the text is the newest in lists, before its pictures', async (t) => {
  const client = new FeedClient(url, 'order');
  const { id: before } = (await client.post('before')).json;
  const names = Array.from({ length: 10 }, (_, i) => `${i}.png`);
  const { json } = await client.postForm([...names.map((name, i) => png(name, i)), field('text', 'text')]);
  const { id: after } = (await client.post('after')).json;
  const pictures = json.attachments.map(({ id }: { id: string }) => id);
  t.strictSame(
    (await notesOf(client)).map(({ id }: { id: string }) => id),
    [after, json.id, ...pictures.reverse(), before],
  );
});

t.test('tags are for all notes, a title for the text', async (t) => {
  const client = new FeedClient(url, 'described');
  const headers = { 'x-note-title*': "UTF-8''caf%C3%A9", 'x-note-tags': 'Red, blue,red' };
  const alt = field('alt.größe %221%22.png', ' An 😀 otter ');
  const parts = [field('text', '# Heading'), alt, png('größe %221%22.png'), png('2.png', 2)];
  await client.postForm(parts, headers);
  const [text, second, first] = await notesOf(client);
  const tags = ['red', 'blue'];
  t.match(text, { content: /^# Heading/, title: 'café', tags });
  t.notOk('alt' in text || 'name' in text);
  t.match(first, { title: 'An 😀 otter', alt: 'An 😀 otter', name: 'größe "1".png', tags });
  t.match(second, { title: '2.png', name: '2.png', tags });
  t.notOk('alt' in second);
});

t.test('without a text the title is for every picture', async (t) => {
  const client = new FeedClient(url, 'titled');
  await client.postForm([png('1.png'), field('alt.1.png', 'alt'), png('2.png', 2)], {
    'x-note-title': 'Title',
  });
  t.match(await notesOf(client), [
    { title: 'Title', name: '2.png' },
    { title: 'Title', name: '1.png', alt: 'alt' },
  ]);
});

t.test('RSS and JSON Feed show the pictures in the text', async (t) => {
  await untilItRenders(url);
  const { json } = await new FeedClient(url, 'shown').postForm([field('text', '![A](a.png)'), png('a.png')]);
  const { read_url: readUrl, attachments } = json;
  const { file_url: fileUrl } = attachments[0];
  const rss = (await ask(readUrl)).text;
  t.ok(rss.includes(`&lt;img src="${fileUrl}" alt="A"`), rss);
  t.ok(rss.includes(`<enclosure url="${fileUrl}" length="64" type="image/png"`), rss);
  const { items } = (await ask(readUrl.replace('feed.xml', 'feed.json'))).json;
  t.equal(items.length, 1);
  t.ok(items[0].content_html.includes(`src="${fileUrl}"`), items[0].content_html);
  t.match(items[0], { attachments: [{ url: fileUrl, mime_type: 'image/png', size_in_bytes: 64 }] });
});

t.test('a form makes a feed with a password and a chosen read id', async (t) => {
  const client = new FeedClient(url, 'locked');
  const secret = { 'x-feed-password': 'secret', 'x-read-id': 'chosen_id' };
  const parts = [field('text', 'a'), png('a.png')];
  const { status, json } = await client.postForm(parts, secret);
  t.equal(status, 201);
  t.equal(readIdIn(json.file_url), 'chosen_id');
  t.equal(readIdIn(json.attachments[0].file_url), 'chosen_id');
  t.match(await client.get(), { status: 401 });
  t.equal((await client.with({ 'x-feed-password': 'secret' }).get()).json.protected, true);
  t.match(await client.postForm(parts), { status: 401, json: { code: 'auth' } });
  t.equal((await client.postForm(parts, { 'x-feed-password': 'secret' })).status, 201);
});

t.test('forms at once to a new name make one feed', async (t) => {
  const client = new FeedClient(url, 'burst');
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, i) => client.postForm([field('text', `${i}`), png('a.png', i)])),
  );
  t.ok(replies.every(({ status }) => status === 201));
  t.equal(new Set(replies.map(({ json }) => json.read_url)).size, 1);
  const notes = await notesOf(client);
  t.equal(notes.length, 40);
  for (const { json } of replies) {
    const { content } = notes.find(({ id }: { id: string }) => id === json.id);
    t.ok(content.endsWith(`\n\n![](${json.attachments[0].file})`));
  }
});

t.test('a form takes one slot of the rate limit, however many pictures it has', async (t) => {
  const limited = await start(t, { SERVICE_RATE_LIMIT: '2' });
  const client = new FeedClient(limited.url, 'otter');
  const parts = [field('text', 'a'), ...Array.from({ length: 10 }, (_, i) => png(`${i}.png`, i))];
  t.equal((await client.postForm(parts)).status, 201);
  t.equal((await client.postForm(parts)).status, 201);
  t.match(await client.postForm(parts), { status: 429, json: { code: 'rate_limited' } });
  t.match(await client.post('x'), { status: 429 });
});

t.test('caps count what is there and what a form brings', async (t) => {
  const capped = await start(t, {
    SERVICE_MAX_FEEDS: '1',
    SERVICE_MAX_NOTES_PER_FEED: '2',
    SERVICE_MAX_IMAGES_PER_FEED: '3',
  });
  const client = new FeedClient(capped.url, 'otter');
  const isRefused = async (reply: Promise<Reply>, code: string, what: string) => {
    const before = contents(capped.dir);
    t.match(await reply, { status: 507, json: { code } }, what);
    t.same(contents(capped.dir), before, `${what} changes nothing`);
  };
  const four = [1, 2, 3, 4].map((i) => png(`${i}.png`, i));
  await isRefused(client.postForm([field('text', 'a'), ...four]), 'image_limit', 'a new feed with too many');
  t.equal((await client.get()).status, 404, 'which is not made');
  t.equal((await client.postForm([field('text', 'a'), ...four.slice(2)])).status, 201);
  const other = new FeedClient(capped.url, 'marten');
  await isRefused(other.postForm([field('text', 'a'), png('a.png')]), 'feed_limit', 'another feed');
  await isRefused(
    client.postForm([field('text', 'b'), ...four.slice(2)]),
    'image_limit',
    'two where one fits',
  );
  await isRefused(client.postForm(four.slice(2)), 'image_limit', 'two without a text');
  t.equal((await client.postForm([field('text', 'b'), png('1.png')])).status, 201, 'one more fits');
  await isRefused(client.postForm([field('text', 'c')]), 'note_limit', 'a third text');
  await isRefused(client.postForm([png('1.png')]), 'image_limit', 'a fourth picture');
});

t.test('caps are exact for forms at once', async (t) => {
  const capped = await start(t, { SERVICE_MAX_IMAGES_PER_FEED: '7' });
  const client = new FeedClient(capped.url, 'otter');
  const forms = Array.from({ length: 20 }, (_, i) =>
    client.postForm([field('text', `${i}`), png('a'), png('b')]),
  );
  const replies = await Promise.all(forms);
  t.equal(replies.filter(({ status }) => status === 201).length, 3);
  t.equal(replies.filter(({ json }) => json.code === 'image_limit').length, 17);
  t.equal((await notesOf(client)).length, 9);
});

t.test('where pictures are switched off, a form may bring a text', async (t) => {
  const strict = await start(t, { SERVICE_IMAGE_UPLOADS: '0' });
  const client = new FeedClient(strict.url, 'otter');
  const before = contents(strict.dir);
  for (const parts of [[field('text', 'a'), png('a.png')], [png('a.png')]])
    t.match(await client.postForm(parts), { status: 403, json: { code: 'images_off' } });
  t.same(contents(strict.dir), before);
  t.equal((await client.postForm([field('text', 'a')])).status, 201);
});

t.test('a picture of a form can be the title image', async (t) => {
  const client = new FeedClient(url, 'pictured');
  const { attachments } = (await client.postForm([field('text', 'a'), png('a.png')])).json;
  const { id, file: image, file_url: fileUrl } = attachments[0];
  t.equal((await client.set({ image })).json.image_url, fileUrl);
  t.equal((await client.send('DELETE', `/notes/${id}`)).status, 204);
  t.equal((await client.get()).json.image_url, null);
});

t.test('a picture that is deleted leaves the text as it is', async (t) => {
  const client = new FeedClient(url, 'halved');
  const {
    file: name,
    file_url: fileUrl,
    attachments,
  } = (await client.postForm([field('text', '![A](a.png)'), png('a.png')])).json;
  await client.send('DELETE', `/notes/${attachments[0].id}`);
  t.equal((await ask(fileUrl)).text, `![A](${attachments[0].file})`);
  t.notOk(existsSync(join(dir, 'halved', attachments[0].file)));
  t.ok(existsSync(join(dir, 'halved', name)));
});

t.test('the largest forms are taken', async (t) => {
  const client = new FeedClient(url, 'large');
  t.equal((await client.postForm([field('text', 'x'.repeat(102_400))])).status, 201, 'a text of 100 KB');
  const ten = Array.from({ length: 10 }, (_, i) => png(`${i}.png`, i, 300_000));
  const { status, json } = await client.postForm([...ten, field('text', 'x'.repeat(100_000))]);
  t.equal(status, 201, 'ten pictures of the largest size with a text');
  t.equal((await ask(json.attachments[9].file_url)).bytes.length, 300_000);
});

t.test('forms survive a restart', async (t) => {
  const first = await start(t);
  const { json } = await new FeedClient(first.url, 'kept').postForm([
    field('text', '![A](a.png)'),
    png('a.png'),
  ]);
  const before = (await new FeedClient(first.url, 'kept').list()).text.replaceAll(first.url, '');
  const second = await first.restart();
  t.equal((await new FeedClient(second.url, 'kept').list()).text.replaceAll(second.url, ''), before);
  t.equal((await ask(second.url + new URL(json.attachments[0].file_url).pathname)).status, 200);
});

t.test('nothing secret is logged of forms', async (t) => {
  const log = JSON.stringify(service.lines);
  for (const secret of ['otter-', 'described', 'chosen_id', 'far.jpg', 'größe', 'An 😀'])
    t.notOk(log.includes(secret), secret);
});
