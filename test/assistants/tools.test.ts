/** Real clients of two generations list and call all ten tools, on open, protected and locked instances. */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FAR, HOSTED, licenseFor } from '../support/licenses.ts';
import { CLIENTS, type McpClient } from '../support/mcp-clients.ts';
import { picture } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';

const TOOLS = [
  'post_note',
  'post_file',
  'list_notes',
  'search_notes',
  'get_note',
  'edit_note',
  'delete_note',
  'get_feed',
  'update_feed',
  'delete_feed',
];
const PASSWORD = 'let us in';

const open = await start(t);
const locked = await start(t, { SERVICE_PASSWORD: PASSWORD });
const bearer = { authorization: `Bearer ${PASSWORD}` };

for (const [generation, connect] of Object.entries(CLIENTS)) {
  t.test(`${generation} lists the tools`, async (t) => {
    const client = await connect(open.url);
    const tools = await client.list();
    t.same(
      tools.map(({ name }) => name),
      TOOLS,
    );
    for (const { name, annotations, description, inputSchema } of tools) {
      t.equal(annotations?.readOnlyHint, /^(list|search|get)_/.test(name), name);
      t.equal(annotations?.destructiveHint, /^(edit|delete|update)_/.test(name), name);
      t.ok(description!.length > 60);
      t.match(inputSchema, { type: 'object', properties: { feed: { type: 'string' } } });
      t.notMatch(JSON.stringify(inputSchema), /pattern|minimum/, 'states types and the length of texts only');
      const unlimited = textsIn('', inputSchema).filter(({ schema }) => schema.maxLength !== 16_384);
      t.same(
        unlimited.filter(({ name }) => name !== 'markdown' && name !== 'data'),
        [],
      );
    }
    await client.close();
  });

  t.test(`${generation} calls all tools on an open instance`, async (t) => {
    const client = await connect(open.url);
    await useAll(t, client, { feed: `open-${generation.replace(/\W/g, '-')}` });
    await client.close();
  });

  t.test(`${generation} calls all tools for a protected feed`, async (t) => {
    const client = await connect(open.url);
    const feed = `protected-${generation.replace(/\W/g, '-')}`;
    await useAll(t, client, { feed, password: 'feed password' }, async () => {
      t.match(await client.call('get_feed', { feed }), { isError: true, value: { code: 'auth' } });
      t.match(await client.call('list_notes', { feed, password: 'wrong' }), {
        isError: true,
        value: { code: 'auth' },
      });
    });
    await client.close();
  });

  t.test(`${generation} calls all tools on a locked instance`, async (t) => {
    await t.rejects(connect(locked.url));
    await t.rejects(connect(locked.url, { authorization: 'Bearer wrong' }));
    const client = await connect(locked.url, bearer);
    await useAll(t, client, { feed: `locked-${generation.replace(/\W/g, '-')}` });
    await client.close();
  });
}

interface TextSchema {
  readonly type?: string;
  readonly maxLength?: number;
}

/** The schemas of texts within a schema, with the name of the member that each is in. */
function textsIn(name: string, schema: TextSchema): { name: string; schema: TextSchema }[] {
  if (schema.type === 'string') return [{ name, schema }];
  if (!(schema instanceof Object)) return [];
  return Object.entries(schema).flatMap(([member, inner]) =>
    textsIn(member === 'items' ? name : member, inner),
  );
}

interface Found {
  readonly id: string;
}

/** @param onceMade is called when the feed exists */
async function useAll(
  t: Test,
  client: McpClient,
  place: { feed: string; password?: string },
  onceMade = async () => {},
): Promise<void> {
  const png = picture('png');
  const posted = await client.call('post_note', {
    ...place,
    markdown: '# Café\n\n![A chart](chart.png)',
    tags: ['One', 'two'],
    attachments: [{ name: 'chart.png', type: 'image/png', data: png.toString('base64'), alt: 'A line' }],
  });
  t.notOk(posted.isError, JSON.stringify(posted.value));
  const { attachments, ...note } = posted.value;
  t.match(note, { url: String, feed_url: String, read_url: String, file: /\.md$/ });
  t.same((await ask(attachments[0].file_url)).bytes, png);
  await onceMade();

  const plain = await client.call('post_note', { ...place, markdown: 'Second', title: 'Named' });
  t.notOk('attachments' in plain.value);

  const file = await client.call('post_file', {
    ...place,
    type: 'image/gif',
    data: picture('gif', 100).toString('base64'),
    alt: 'Moves',
    name: 'a/b.gif',
    title: 'A film',
    tags: ['two'],
  });
  t.match(file.value, { file: /\.gif$/ });

  const list = await client.call('list_notes', { ...place, tag: 'two', limit: 2 });
  t.equal(list.value.notes[0].id, file.value.id);
  t.match(list.value.notes[0], { alt: 'Moves', name: 'ab.gif', title: 'A film', tags: ['two'] });
  const older = await client.call('list_notes', { ...place, tag: 'two', before: list.value.next });
  t.equal(list.value.notes.length + older.value.notes.length, 3);

  const search = async (more: object, count: number) => {
    const ask = async () => (await client.call('search_notes', { ...place, ...more })).value;
    t.ok(await eventually(async () => (await ask()).notes?.length === count));
    return ask();
  };
  const { created_at } = [...list.value.notes, ...older.value.notes].find(({ id }: Found) => id === note.id);
  const hit = { id: note.id, title: 'Café', created_at, text: 'Café A chart', url: note.url };
  t.same(await search({ query: '"a chart" caf*', tag: 'one' }, 1), { notes: [hit], next: null });
  t.match(await search({ query: 'mov*' }, 1), {
    notes: [{ id: file.value.id, title: 'A film', text: 'Moves' }],
  });
  await search({ query: 'chart' }, 2);
  const { notes: chart, next } = await search({ query: 'chart', limit: 1 }, 1);
  t.not((await search({ query: 'chart', before: next }, 1)).notes[0].id, chart[0].id);

  const read = await client.call('get_note', { ...place, id: note.id });
  t.equal(read.value.content, `# Café\n\n![A chart](${attachments[0].file})`);
  t.same(read.value.tags, ['one', 'two']);

  const { etag } = read.value;
  const edited = await client.call('edit_note', { ...place, id: note.id, markdown: 'New', title: 'T', etag });
  t.match(edited.value, { id: note.id, content: 'New', title: 'T', tags: ['one', 'two'] });
  const isChanged = { isError: true, value: { code: 'changed' } };
  for (const change of [{ markdown: 'Of the old' }, { title: 'Of the old' }])
    t.match(await client.call('edit_note', { ...place, id: note.id, etag, ...change }), isChanged);
  t.match(await client.call('delete_note', { ...place, id: note.id, etag }), isChanged);
  const newest = { ...place, id: note.id, etag: edited.value.etag };
  t.match((await client.call('edit_note', { ...newest, title: 'U' })).value, { content: 'New', title: 'U' });
  const described = await client.call('edit_note', { ...place, id: file.value.id, alt: '' });
  t.notOk('alt' in described.value);

  t.same((await client.call('delete_note', { ...place, id: plain.value.id })).value, { deleted: true });
  t.match(await client.call('get_note', { ...place, id: plain.value.id }), {
    isError: true,
    value: { code: 'not_found', error: 'There is no such note.' },
  });

  const changed = await client.call('update_feed', { ...place, title: 'Ours', image: file.value.file });
  t.match(changed.value, {
    name: place.feed,
    title: 'Ours',
    description: '',
    image_url: file.value.file_url,
  });
  const again = await client.call('update_feed', { ...place, description: 'What we do', show_sender: false });
  t.match((await client.call('update_feed', { ...place, listed: true })).value, { listed: true });
  const unlisted = await client.call('update_feed', { ...place, listed: false });
  t.same(unlisted.value, again.value);
  t.match(again.value, { listed: false, title: 'Ours', description: 'What we do', show_sender: false });
  t.same((await client.call('get_feed', place)).value, again.value);

  t.same((await client.call('delete_feed', place)).value, { deleted: true });
  t.match(await client.call('get_feed', place), { isError: true, value: { code: 'not_found' } });
}

t.test('an instance whose feeds need a license says so in the words of the API', async (t) => {
  const { url } = await start(t, HOSTED);
  const client = await Object.values(CLIENTS)[0]!(url);
  const feed = 'hosted';
  await client.call('post_note', { feed, markdown: 'x' });
  t.match(await client.call('get_feed', { feed }), { value: { license: null } });
  const file = { feed, type: 'image/png', data: picture('png').toString('base64') };
  t.match(await client.call('post_file', file), { isError: true, value: { code: 'license_required' } });
  const reply = await ask(`${url}/api/v1/feeds/${feed}/license`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ license: licenseFor() }),
  });
  t.equal(reply.status, 200);
  t.match(await client.call('post_file', file), { isError: false });
  t.match(await client.call('update_feed', { feed, title: 'Mine' }), { value: { license: { until: FAR } } });
  await client.close();
});
