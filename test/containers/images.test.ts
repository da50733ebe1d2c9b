/** Containers that post and delete pictures while another removes what no note refers to from their common store. */
import { chmod, mkdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startContainers } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { countOf, imageSettings, OPERATOR_TOKEN, storeAt } from '../support/image-settings.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, tempDir } from '../support/service.ts';

t.setTimeout(600_000);

const ROUNDS = 25;
const PNG = { 'content-type': 'image/png' };

t.test('no object that a note refers to is ever removed, and in the end no other is left', async (t) => {
  const server = await PostgresServer.start(t);
  const url = await server.database();
  const parent = await tempDir(t);
  await chmod(parent, 0o755);
  const dir = join(parent, 'pictures');
  await mkdir(dir);
  await chmod(dir, 0o777);
  const env = { ...imageSettings({ kind: 'fs', dir }), SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN };
  const [one, other, third] = await startContainers(t, url, [{ env }, { env }, { env }]);

  let isOver = false;
  t.teardown(() => {
    isOver = true;
  });
  // As if each had been posted long ago: from the moment on when a note refers to it, age protects it no more.
  const aging = (async () => {
    const old = new Date(Date.now() - 7_200_000);
    while (!isOver)
      for (const { image_key } of await server.sql(
        url,
        'SELECT image_key FROM notes WHERE image_key IS NOT NULL',
      ))
        await utimes(join(dir, String(image_key)), old, old).catch(() => {});
  })();
  const removed: number[] = [];
  const cleaning = (async () => {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    while (!isOver) {
      const { status, json } = await ask(`${third!.url}/api/operator/images/unreferenced`, {
        method: 'DELETE',
        headers,
      });
      if (status !== 200) throw new Error(JSON.stringify(json));
      removed.push(json.deleted.count);
    }
  })();
  const kept = new Map<string, Buffer>();
  const using = async (container: { readonly url: string }, name: string) => {
    const feed = new FeedClient(container.url, name);
    for (let n = 0; n < ROUNDS; n += 1) {
      const bytes = picture('png', 5_000 + n, n);
      const { status, json } = await feed.post(bytes, PNG);
      t.equal(status, 201);
      const path = new URL(json.file_url).pathname;
      if (n % 3 === 0) t.equal((await feed.send('DELETE', `/notes/${json.id}`)).status, 204);
      else kept.set(path, bytes);
      for (const [path, bytes] of kept)
        t.ok(
          bytes.equals((await ask(third!.url + path)).bytes) || !kept.has(path),
          'a picture that is there',
        );
    }
  };
  await Promise.all([using(one!, 'first'), using(other!, 'second')]);
  isOver = true;
  await Promise.all([aging, cleaning]);
  t.ok(removed.length > 1);
  for (const [path, bytes] of kept) t.ok(bytes.equals((await ask(one!.url + path)).bytes));
  const store = await storeAt(t, { kind: 'fs', dir });
  t.ok(
    await eventually(async () => (await countOf(store)) === kept.size),
    'and the removers have removed the others',
  );
});
