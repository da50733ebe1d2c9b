/** `deploy/copy-files` while notes are changed between its passes. */
import { execFile } from 'node:child_process';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { field, file } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { start, tempDir } from '../support/service.ts';

const run = promisify(execFile);

/** Copies a folder, and changes the title of a note after the first pass. Returns the path of the copy. */
async function copyWhileTitled(t: Test, dir: string, feed: FeedClient, id: string): Promise<string> {
  const bin = await tempDir(t);
  const address = `${feed.record}/notes/${encodeURIComponent(id)}`;
  const change = `const { status } = await fetch(${JSON.stringify(address)}, {
    method: 'PATCH', headers: { 'content-type': 'application/json' }, body: '{"title":"another"}',
  });
  if (status !== 200) throw new Error(status);`;
  await writeFile(join(bin, 'change.mjs'), change);
  const rsync = `#!/bin/sh
/usr/bin/rsync "$@" || exit
[ -e '${bin}/changed' ] || { NODE_OPTIONS= '${process.execPath}' '${bin}/change.mjs' && touch '${bin}/changed'; }`;
  await writeFile(join(bin, 'rsync'), rsync, { mode: 0o755 });
  const copy = join(await tempDir(t), 'copy');
  // As cron and systemd start it.
  const env = { PATH: `${bin}:${process.env.PATH}`, LC_ALL: 'C' };
  await run('deploy/copy-files', [dir, copy], { env });
  await access(join(bin, 'changed'));
  return copy;
}

t.test('notes that are changed meanwhile', { skip: missing('rsync') }, async (t) => {
  const { url, dir } = await start(t, { SERVICE_STORAGE: 'fs' });
  const feed = new FeedClient(url, 'feed');

  await t.test('a picture whose text was deleted before stays', async (t) => {
    const bytes = picture('png', 500);
    const posted = await feed.postForm([
      field('text', '![](a.png)'),
      file('file', 'a.png', 'image/png', bytes),
    ]);
    t.equal(posted.status, 201, posted.text);
    const [{ id, file: name }] = posted.json.attachments;
    t.equal((await feed.send('DELETE', `/notes/${posted.json.id}`)).status, 204);
    const copy = await copyWhileTitled(t, dir, feed, id);
    t.ok(bytes.equals(await readFile(join(copy, 'feed', name))));
    const meta = await readFile(join(copy, 'feed', `.${name}.json`), 'utf8');
    t.match(JSON.parse(meta), { title: 'another' });
  });

  for (const id of ['grüße', 'two\nlines'])
    await t.test(`the first metadata of a note that is named ${JSON.stringify(id)}`, async (t) => {
      await writeFile(join(dir, 'feed', `${id}.md`), 'text');
      const isThere = async () => (await feed.get(`/notes/${encodeURIComponent(id)}`)).status === 200;
      t.ok(await eventually(isThere));
      const copy = await copyWhileTitled(t, dir, feed, id);
      const meta = await readFile(join(copy, 'feed', `.${id}.md.json`), 'utf8');
      t.match(JSON.parse(meta), { title: 'another' });
    });
});
