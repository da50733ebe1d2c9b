/** The most that may be stored, through HTTP: exact however many ask at once. */
import t, { type Test } from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { refusesAll } from '../support/refused.ts';
import { start } from '../support/service.ts';

const CAPS = {
  SERVICE_MAX_FEEDS: '3',
  SERVICE_MAX_NOTES_PER_FEED: '10',
  SERVICE_MAX_IMAGES_PER_FEED: '5',
};
const PNG = { 'content-type': 'image/png' };
const MD = { 'content-type': 'text/markdown' };

/** How many of the answers were 201; the others must be this refusal. */
async function stored(t: Test, replies: Promise<{ status: number; json: { code: string } }>[], code: string) {
  const all = await Promise.all(replies);
  const others = all.filter(({ status }) => status !== 201);
  t.ok(
    others.every((reply) => reply.status === 507 && reply.json.code === code),
    code,
  );
  return all.length - others.length;
}

t.test('of a hundred posts at once just as many are stored as there is room for', async (t) => {
  const service = await start(t, CAPS);
  const client = new FeedClient(service.url, 'marten');
  const hundred = <T>(make: (i: number) => T) => Array.from({ length: 100 }, (_, i) => make(i));
  t.equal(
    await stored(
      t,
      hundred((i) => client.post(`note ${i}`)),
      'note_limit',
    ),
    10,
  );
  t.equal(
    await stored(
      t,
      hundred((i) => client.post(picture('png', 64, i), PNG)),
      'image_limit',
    ),
    5,
  );
  const { notes } = (await client.list('?limit=100')).json;
  t.equal(notes.length, 15);

  const headers = { 'content-type': 'image/png' };
  const path = '/marten';
  const views = [{ path: '/api/v1/feeds/marten' }, { path: '/api/v1/feeds/marten/notes' }];
  await refusesAll(t, { service, views, secrets: ['marten'] }, [
    {
      what: 'one text too many',
      method: 'POST',
      path,
      headers: MD,
      body: 'x',
      status: 507,
      code: 'note_limit',
    },
    {
      what: 'one picture too many',
      method: 'POST',
      path,
      headers,
      body: picture('png'),
      status: 507,
      code: 'image_limit',
    },
  ]);

  const feeds = hundred((i) => new FeedClient(service.url, `stoat-${i}`).post());
  t.equal(await stored(t, feeds, 'feed_limit'), 2);
  await refusesAll(t, { service, views, secrets: ['weasel'] }, [
    {
      what: 'one feed too many',
      method: 'POST',
      path: '/weasel',
      headers: MD,
      body: 'x',
      status: 507,
      code: 'feed_limit',
    },
  ]);

  const full = await service.restart();
  const again = new FeedClient(full.url, 'marten');
  t.match(await again.post(), { status: 507, json: { code: 'note_limit' } }, 'after a restart too');
  t.match(await new FeedClient(full.url, 'weasel').post(), { status: 507, json: { code: 'feed_limit' } });
});

t.test('what is deleted makes room for as much', async (t) => {
  const service = await start(t, { ...CAPS, SERVICE_MAX_NOTES_PER_FEED: '2', SERVICE_MAX_FEEDS: '1' });
  const client = new FeedClient(service.url, 'marten');
  const { id } = (await client.post()).json;
  await client.post();
  t.match(await client.post(), { status: 507 });
  t.equal((await client.send('DELETE', `/notes/${id}`)).status, 204);
  t.equal(await stored(t, [client.post(), client.post(), client.post()], 'note_limit'), 1);
  const other = new FeedClient(service.url, 'stoat');
  t.match(await other.post(), { status: 507, json: { code: 'feed_limit' } });
  await client.delete();
  t.equal((await other.post()).status, 201);
  t.match(await client.post(), { status: 507, json: { code: 'feed_limit' } });
});

t.test('a full feed is still edited', async (t) => {
  const service = await start(t, {
    ...CAPS,
    SERVICE_MAX_NOTES_PER_FEED: '1',
    SERVICE_MAX_IMAGES_PER_FEED: '1',
  });
  const client = new FeedClient(service.url, 'marten');
  const { id } = (await client.post()).json;
  const image = (await client.post(picture('png'), PNG)).json;
  t.equal((await client.send('PATCH', `/notes/${id}`, '{"title":"a"}')).status, 200);
  t.equal((await client.set({ image: image.file })).status, 200);
  t.equal((await client.list()).json.notes.length, 2, 'pictures do not count as notes');
});

t.test('posts that are refused for another reason take no room', async (t) => {
  const service = await start(t, { ...CAPS, SERVICE_MAX_NOTES_PER_FEED: '3', SERVICE_MAX_FEEDS: '2' });
  const client = new FeedClient(service.url, 'marten');
  await client.post('x', { 'x-read-id': 'marten-read' });
  for (let i = 0; i < 5; i++) {
    t.equal(
      (await new FeedClient(service.url, `stoat-${i}`).post('x', { 'x-read-id': 'marten-read' })).status,
      409,
    );
    t.equal((await client.post(new Uint8Array([0xff]))).status, 415);
  }
  t.equal(
    await stored(
      t,
      Array.from({ length: 5 }, () => client.post()),
      'note_limit',
    ),
    2,
  );
  t.equal((await new FeedClient(service.url, 'stoat').post()).status, 201);
});
