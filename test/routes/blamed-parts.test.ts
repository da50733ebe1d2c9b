/** A refused form names the part to blame, caps and switched off pictures included (contract §5). */
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { field, png } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { start } from '../support/service.ts';

const PNG = (name: string, seed: number) => png(name, picture('png', 64, seed));

t.test('a picture for which there is no room', async (t) => {
  const { url } = await start(t, { SERVICE_MAX_IMAGES_PER_FEED: '3' });
  const client = new FeedClient(url, 'shrew');
  await client.post(picture('png'), { 'content-type': 'image/png' });
  const parts = [field('text', 'a'), PNG('1.png', 1), PNG('2.png', 2), PNG('3.png', 3)];
  const refused = await client.postForm(parts);
  t.match(refused, {
    status: 507,
    json: { code: 'image_limit', error: /^attachment "3\.png": this feed has/ },
  });
  const { id } = (await client.post('a text')).json;
  const replaced = await client.putForm(id, parts);
  t.match(replaced, {
    status: 507,
    json: { code: 'image_limit', error: /^attachment "3\.png": this feed has/ },
  });
  t.equal((await client.list()).json.notes.length, 2);
});

t.test('a text for which there is no room', async (t) => {
  const { url } = await start(t, { SERVICE_MAX_NOTES_PER_FEED: '1' });
  const client = new FeedClient(url, 'shrew');
  await client.post('a text');
  const refused = await client.postForm([field('text', 'a'), PNG('1.png', 1)]);
  t.match(refused, { status: 507, json: { code: 'note_limit', error: /^text: this feed has/ } });
  t.match((await client.post('b')).json.error, /^This feed has/, 'a note of its own is no part');
});

t.test('a picture where none is taken', async (t) => {
  const { url } = await start(t, { SERVICE_IMAGE_UPLOADS: '0' });
  const refused = await new FeedClient(url, 'shrew').postForm([field('text', 'a'), PNG('1.png', 1)]);
  t.match(refused, {
    status: 403,
    json: { code: 'images_off', error: /^attachment "1\.png": this instance/ },
  });
});
