/** An edit by an assistant is made whole or not at all. */
import { rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { CLIENTS } from '../support/mcp-clients.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

t.test('one of the text and the title, while the operator closes the feed', async (t) => {
  const dir = await dataDir(t);
  const orders = `${dir}.sync`;
  const { url } = await ServiceProcess.start(t, {
    dir,
    env: { ...WITH_OPERATOR, SYNC_FILE: orders, SERVICE_STORAGE: 'fs' },
    flags: ['--import', new URL('../support/held-sync.mjs', import.meta.url).href],
  });
  const owner = new FeedClient(url, 'marten');
  const { id } = (await owner.post('old', { 'x-note-title': 'Old' })).json;
  const client = await CLIENTS['client 2.4'](url);
  t.teardown(() => client.close());
  await writeFile(`${orders}.new`, JSON.stringify({ order: 'hold' }));
  await rename(`${orders}.new`, orders);
  const edit = { feed: 'marten', id, markdown: 'new', title: 'New', expires: '7d' };
  const edited = client.call('edit_note', edit);
  await delay(300);
  const closed = operate(url, 'PUT', '/blocks/marten');
  await delay(300);
  await rm(orders);
  t.equal((await closed).status, 204);
  t.match(await edited, { isError: false, value: { content: 'new', title: 'New', expires_at: /Z$/ } });
  t.match((await owner.get(`/notes/${id}`)).json, { content: 'new', title: 'New', expires_at: /Z$/ });
  t.match(await client.call('edit_note', { ...edit, markdown: 'newer' }), {
    isError: true,
    value: { code: 'blocked' },
  });
  t.match((await owner.get(`/notes/${id}`)).json, { content: 'new' });
});
