/** `deploy/copy-files`: what it leaves out, and notes that are changed between its passes. */
import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { access, chown, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { field, file } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { NOBODY } from '../support/postgres.ts';
import { start, tempDir } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

const run = promisify(execFile);

/** Copies a folder, and runs a script after a pass, the first unless another is given. Returns the path of the copy. */
async function copyWhile(t: Test, dir: string, script: string, pass = 1): Promise<string> {
  const bin = await tempDir(t);
  await writeFile(join(bin, 'change.mjs'), script);
  const rsync = `#!/bin/sh
/usr/bin/rsync "$@" || exit
echo >>'${bin}/passes'
[ "$(wc -l <'${bin}/passes')" != ${pass} ] || { NODE_OPTIONS= '${process.execPath}' '${bin}/change.mjs' && touch '${bin}/changed'; }`;
  await writeFile(join(bin, 'rsync'), rsync, { mode: 0o755 });
  const copy = join(await tempDir(t), 'copy');
  // As cron and systemd start it.
  const env = { PATH: `${bin}:${process.env.PATH}`, LC_ALL: 'C' };
  await run('deploy/copy-files', [dir, copy], { env });
  await access(join(bin, 'changed'));
  return copy;
}

/** A folder in which a service has kept plain files. */
async function dataDir(t: Test): Promise<string> {
  const dir = await tempDir(t);
  await writeFile(join(dir, '.lock'), '');
  return dir;
}

/** A statement of a script that sends a request. */
function send(
  method: string,
  url: string,
  headers: Record<string, string>,
  body?: string | Uint8Array,
): string {
  const bytes = body && `Buffer.from('${Buffer.from(body).toString('base64')}', 'base64')`;
  return `{
    const options = { method: '${method}', headers: ${JSON.stringify(headers)}, body: ${bytes} };
    const { ok, status } = await fetch(${JSON.stringify(url)}, options);
    if (!ok) throw new Error(status);
  }\n`;
}

function copyWhileTitled(t: Test, dir: string, feed: FeedClient, id: string): Promise<string> {
  const url = `${feed.record}/notes/${encodeURIComponent(id)}`;
  return copyWhile(t, dir, send('PATCH', url, { 'content-type': 'application/json' }, '{"title":"another"}'));
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

  await t.test('a picture of an imported text whose name has a quote stays', async (t) => {
    const zip = zipOf([
      { name: 'p.png', bytes: picture('png', 500) },
      { name: '.p.png.json', bytes: JSON.stringify({ attached_to: 'a"b' }) },
      { name: 'a"b.md' },
    ]);
    const script = send('POST', `${feed.record}/import`, { 'content-type': 'application/zip' }, zip);
    const copy = await copyWhile(t, dir, script);
    await access(join(copy, 'feed', 'a"b.md'));
    await access(join(copy, 'feed', 'p.png'));
  });

  for (const pass of [1, 2])
    await t.test(
      `a feed that is deleted and made again after pass ${pass} has nothing of the old one`,
      async (t) => {
        const name = `again-${pass}`;
        const old = new FeedClient(url, name, { 'x-feed-password': 'old' });
        await old.post('old');
        await old.post(picture('png', 500), { 'content-type': 'image/png' });
        const deletion = send('DELETE', old.record, { 'x-feed-password': 'old' });
        const post = send('POST', `${url}/${name}`, { 'content-type': 'text/markdown' }, 'new');
        const copy = await copyWhile(t, dir, deletion + post, pass);
        t.same((await readdir(join(copy, name))).sort(), (await readdir(join(dir, name))).sort());
      },
    );
});

t.test(
  'a copy holds the read ids that are in names of folders, and nothing that is unfinished',
  { skip: missing('rsync') },
  async (t) => {
    const dir = await dataDir(t);
    const unfinished = `.tmp-nfs-${randomUUID()}`;
    const deleted = `.tmp-nfs-${randomUUID()}-chosen`;
    for (const folder of ['feed', unfinished, deleted]) {
      await mkdir(join(dir, folder));
      await writeFile(join(dir, folder, 'a.md'), 'a');
      await writeFile(join(dir, folder, `.tmp-nfs-${randomUUID()}-a`), 'a');
    }
    const copy = join(await tempDir(t), 'copy');
    await run('deploy/copy-files', [dir, copy]);
    t.same((await readdir(copy, { recursive: true })).sort(), [deleted, 'feed', join('feed', 'a.md')]);
  },
);

t.test('a folder is not copied into itself', { skip: missing('rsync') }, async (t) => {
  const dir = await dataDir(t);
  await mkdir(join(dir, 'feed'));
  for (const target of [join(dir, 'backup'), join(dir, 'feed', 'backup')]) {
    const stderr = `${target} is in the folder that is to be copied.\n`;
    await t.rejects(run('deploy/copy-files', [dir, target]), { code: 1, stderr });
  }
  t.same((await readdir(dir, { recursive: true })).sort(), ['.lock', 'feed']);
});

t.test('a folder in which no service has kept plain files is not copied', async (t) => {
  const [dir, copy] = [await tempDir(t), join(await tempDir(t), 'copy')];
  // As SQLite has it.
  for (const file of ['notefeed.db', 'notefeed.db.lock']) await writeFile(join(dir, file), '');
  const stderr = /no DATA_DIR of plain files/;
  await t.rejects(run('deploy/copy-files', [dir, copy]), { code: 1, stderr });
  t.same((await readdir(dir)).sort(), ['notefeed.db', 'notefeed.db.lock']);
  await t.rejects(access(copy));
});

t.test('a copy that cannot be dated is there all the same', { skip: missing('rsync') }, async (t) => {
  const dir = await dataDir(t);
  await mkdir(join(dir, 'feed'));
  await symlink('/nonexistent/file', join(dir, '.backup-done'));
  const copy = join(await tempDir(t), 'copy');
  const { stderr } = await run('deploy/copy-files', [dir, copy]);
  t.match(stderr, /\nThe date of this backup cannot be kept for the metrics, in DATA_DIR\.\n$/);
  t.same(await readdir(copy), ['feed']);
});

const asRoot = process.getuid?.() === 0 ? missing('rsync') : 'only root can run as another user';

t.test('a data folder that is a disk of its own is copied by its owner', { skip: asRoot }, async (t) => {
  const [dir, parent] = [await dataDir(t), await tempDir(t)];
  await mkdir(join(dir, 'feed'));
  // As mkfs.ext4 leaves it.
  await mkdir(join(dir, 'lost+found'), { mode: 0o700 });
  for (const folder of [dir, join(dir, 'feed'), parent]) await chown(folder, NOBODY, NOBODY);
  const copy = join(parent, 'copy');
  // That user may not be able to read this project.
  const input = await readFile('deploy/copy-files');
  execFileSync('sh', ['-s', '--', dir, copy], { input, cwd: '/', uid: NOBODY, gid: NOBODY });
  t.same(await readdir(copy), ['feed']);
});
