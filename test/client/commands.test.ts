/** Each command of the client for the terminal, in each shell. */
import { lstat, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { VERSION } from '../../src/version.ts';
import { Client, outcomeOf, SHELLS } from '../support/nf.ts';
import { PIXEL } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const { url } = await start(t);
let feeds = 0;
const newFeed = () => `feed-${process.pid}-${++feeds}`;
const notesOf = async (feed: string) => (await ask(`${url}/api/v1/feeds/${feed}/notes`)).json.notes;

function inEachShell(name: string, test: (t: Test, client: Client, feed: string) => Promise<void>) {
  for (const shell of SHELLS)
    t.test(`${shell.name}: ${name}`, { skip: shell.skip }, async (t) => {
      const feed = newFeed();
      await test(t, await Client.of(t, url, shell, feed), feed);
    });
}

inEachShell('a text is posted, listed, read, found and deleted', async (t, client, feed) => {
  const options = ['--title', 'A title', '--tag', 'one', '--tag', 'two', '--key', 'k', '--expires', '1h'];
  const posted = await client.run(['post', ...options], { input: 'red *fox*\n\n' });
  t.match(posted, { code: 0, errors: '' });
  const [note] = await notesOf(feed);
  t.match(note, { title: 'A title', tags: ['one', 'two'], key: 'k', content: 'red *fox*\n\n' });
  t.ok(note.expires_at);
  const readPage = note.file_url.replace(/\.md$/, '');
  t.equal(posted.out, `${note.id}  ${readPage}\n`);
  t.equal((await ask(readPage)).status, 200);
  const row = `${note.created_at.slice(0, 16).replace('T', ' ')}  ${note.id}  A title  #one  #two\n`;
  t.same(await client.run(['list']), { code: 0, out: row, bytes: Buffer.from(row), errors: '' });
  t.equal((await client.run(['search', 'fox', 'RED', '--tag', 'one'])).out, `${row}    red fox\n`);
  t.equal((await client.run(['search', '--', '-fox', 'red'])).out, '');
  t.equal((await client.run(['get', note.id])).out, 'red *fox*\n\n');
  t.match(await client.run(['delete', note.id]), { code: 0, out: '', errors: '' });
  t.same(await notesOf(feed), []);
  t.match(await client.run(['get', note.id]), {
    code: 1,
    errors: 'nf: There is no such note. (not_found)\n',
  });
  t.same(await client.left(), []);
});

inEachShell('--json prints what the service answered', async (t, client, feed) => {
  await client.run(['post'], { input: 'café' });
  const list = await ask(`${url}/api/v1/feeds/${feed}/notes`);
  const { id } = list.json.notes[0];
  t.equal((await client.run(['list', '--json'])).out, list.text);
  t.equal(
    (await client.run(['get', id, '--json'])).out,
    (await ask(`${url}/api/v1/feeds/${feed}/notes/${id}`)).text,
  );
  t.equal(JSON.parse((await client.run(['post', '--json'], { input: 'x' })).out).feed_url, `${url}/${feed}`);
});

inEachShell('the same post with a key makes no second note', async (t, client, feed) => {
  const first = await client.run(['post', '--key', 'build 1'], { input: 'ok' });
  t.same(await client.run(['post', '--key', 'build 1'], { input: 'ok' }), first);
  t.match(await client.run(['post', '--key', 'build 1'], { input: 'no' }), {
    code: 1,
    errors: /\(key_reused\)\n$/,
  });
  t.equal((await notesOf(feed)).length, 1);
});

inEachShell('a picture keeps its bytes, name and alternative text', async (t, client, feed) => {
  await client.write('my cat.png', PIXEL);
  t.match(await client.run(['post', 'my cat.png', '--alt', 'A "cat"']), { code: 0 });
  t.match(await client.run(['post'], { input: PIXEL }), { code: 0 });
  const [piped, cat] = await notesOf(feed);
  t.match(cat, { type: 'image/png', name: 'my cat.png', alt: 'A "cat"' });
  t.same((await client.run(['get', cat.id])).bytes, PIXEL);
  t.match(piped, { type: 'image/png' });
  t.match(await client.run(['edit', cat.id, 'my cat.png']), { code: 0 });
  t.match(await client.run(['edit', cat.id]), { code: 2 });
});

inEachShell('a text and its pictures are one post', async (t, client, feed) => {
  const names = ['a b.png', 'c"d\'e=f;g,%.PNG'];
  for (const name of names) await client.write(name, PIXEL);
  await client.write('note.md', 'See ![x](<a b.png>)\n');
  const args = [
    'post',
    names[0]!,
    'note.md',
    names[1]!,
    '--alt',
    'first',
    '--alt',
    '= "$x" \\ é',
    '--title',
    'T',
  ];
  t.match(await client.run(args), { code: 0 });
  const notes = await notesOf(feed);
  t.equal(notes.length, 3);
  const byName = (name: string) => notes.find((note: { name?: string }) => note.name === name);
  t.match(byName(names[0]!), { alt: 'first' });
  t.match(byName(names[1]!), { alt: '= "$x" \\ é' });
  t.match(
    notes.find((note: { content?: string }) => note.content),
    { title: 'T' },
  );
  t.match(await client.run(['post', 'note.md', 'note.md']), { code: 2 });
  t.match(await client.run(['post', 'note.md', names[0]!, '--alt', 'a', '--alt', 'b']), { code: 2 });
  t.same(await client.left(), []);
});

inEachShell('a text that begins as a picture does is a text', async (t, client, feed) => {
  const text = 'GIF89a is the second version of it\n';
  await client.write('gif.md', text);
  t.match(await client.run(['post', 'gif.md']), { code: 0, errors: '' });
  t.match(await notesOf(feed), [{ type: 'text/markdown', content: text }]);
  await client.run(['post'], { input: 'other' });
  const [{ id }] = await notesOf(feed);
  t.match(await client.run(['edit', id, 'gif.md']), { code: 0, errors: '' });
  t.match((await notesOf(feed))[0], { id, content: text });
});

inEachShell('a text is edited in the editor', async (t, client, feed) => {
  const text = 'first "line"\n\ttab \\ Á 😀\n\n\n';
  const { id } = (await post(`${url}/${feed}`, text)).json;
  t.match(await client.run(['edit', id], { env: { EDITOR: 'true' } }), {
    code: 0,
    errors: /Nothing is changed/,
  });
  const env = { VISUAL: 'sed -i -e s/first/second/' };
  t.match(await client.run(['edit', id], { env }), { code: 0, out: '', errors: '' });
  t.equal((await notesOf(feed))[0].content, text.replace('first', 'second'));
  await client.write('other.md', 'third');
  t.match(await client.run(['edit', id, 'other.md']), { code: 0 });
  t.equal((await notesOf(feed))[0].content, 'third');
  t.same(await client.left(), []);
});

inEachShell('an export is the zip of the feed, whole or not at all', async (t, client) => {
  await client.run(['post'], { input: 'kept' });
  t.match(await client.run(['export', 'all notes.zip']), { code: 0, out: '' });
  const zip = await readFile(join(client.dir, 'all notes.zip'));
  const imported = newFeed();
  await post(`${url}/${imported}`, 'there');
  const headers = { 'content-type': 'application/zip' };
  t.match((await post(`${url}/api/v1/feeds/${imported}/import`, zip, headers)).json, { imported: 1 });
  await client.run(['login', 'none'], { input: `${newFeed()}\n` });
  t.match(await client.run(['export', 'none.zip', '-f', 'none']), { code: 1, errors: /\(not_found\)/ });
  await t.rejects(stat(join(client.dir, 'none.zip')));
});

inEachShell('an export replaces no link and no folder, and can be written into a pipe', async (t, client) => {
  await client.run(['post'], { input: 'kept' });
  await client.run(['export', 'plain.zip']);
  const zip = await readFile(join(client.dir, 'plain.zip'));
  t.same((await client.run(['export', '-'])).bytes, zip);
  await symlink('behind.zip', join(client.dir, 'link.zip'));
  t.match(await client.run(['export', 'link.zip']), { code: 0, errors: '' });
  t.ok((await lstat(join(client.dir, 'link.zip'))).isSymbolicLink());
  t.same(await readFile(join(client.dir, 'behind.zip')), zip);
  await mkdir(join(client.dir, 'folder'));
  t.match(await client.run(['export', 'folder']), { code: 2, errors: 'nf: folder is a folder' });
  t.same(await readdir(join(client.dir, 'folder')), []);
  t.match(await client.run(['export', '--', '-x.zip']), { code: 0, errors: '' });
  t.same(await readFile(join(client.dir, '-x.zip')), zip);
  t.notOk((await readdir(client.dir)).some((name) => name.includes('part')));
  t.same(await client.left(), []);
});

inEachShell('output that nobody takes is no success', async (t, client) => {
  const posted = await client.run(['post'], { input: 'x' });
  const [id = ''] = posted.out.split(' ');
  for (const args of [['list'], ['list', '--json'], ['search', 'x'], ['get', id], ['feeds']]) {
    const child = client.start(args);
    child.stdout!.destroy();
    t.not((await outcomeOf(child)).code, 0, args.join(' '));
  }
});

inEachShell('several feeds are remembered and forgotten', async (t, client, feed) => {
  const home = newFeed();
  await client.run(['login', 'home'], { input: `${url}/${home}\nsecret \\ "pass"\n\n` });
  t.equal((await client.run(['feeds'])).out, 'work\nhome  with a password\n');
  t.match(await client.run(['post'], { input: 'x' }), {
    code: 2,
    errors: 'nf: Say which feed with -f: work home\n',
  });
  t.match(await client.run(['post', '-f', 'hoem'], { input: 'x' }), { code: 2 });
  t.match(await client.run(['post', '-f', 'home'], { input: 'protected' }), { code: 0 });
  t.equal((await ask(`${url}/api/v1/feeds/${home}/notes`)).status, 401);
  t.match((await client.run(['list', '-f', 'home'])).out, /protected/);
  t.same(await notesOf(feed), []);
  t.match(await client.run(['forget', 'home']), { code: 0 });
  t.equal((await client.run(['feeds'])).out, 'work\n');
  t.match(await client.run(['login', 'home'], { input: `${home}\nwrong\n` }), {
    code: 1,
    errors: /\(auth\)/,
  });
  t.equal((await client.run(['feeds'])).out, 'work\n');
});

inEachShell('a list goes on where it ended', async (t, client, feed) => {
  for (const text of ['one', 'two', 'three']) await post(`${url}/${feed}`, text);
  const first = await client.run(['list', '--limit', '2']);
  t.match(first.out, /three\n.*two\n$/);
  const before = /--before (\S+)\n/.exec(first.errors)![1]!;
  t.match(await client.run(['list', '--before', before]), { code: 0, out: /^[^\n]*one\n$/, errors: '' });
  t.match(await client.run(['list', '--limit', '1&before=x']), { code: 1, errors: /\(invalid_request\)/ });
});

inEachShell('wrong arguments are told', async (t, client) => {
  const wrong = [
    [],
    ['frob'],
    ['post', '--frob'],
    ['list', '--title', 'x'],
    ['post', '--title'],
    ['post', 'none.md'],
    ['get'],
    ['edit', ''],
    ['list', 'x'],
    ['search'],
    ['delete'],
    ['export'],
    ['login'],
    ['login', '-x'],
    ['forget', 'nobody'],
    ['forget', ''],
    ['post', '.'],
    ['tail', 'x'],
  ];
  for (const args of wrong) t.match(await client.run(args), { code: 2, out: '' }, args.join(' '));
  t.match(await client.run(['--version']), { code: 0, out: `nf ${VERSION} of ${url}\n` });
  const { code, out } = await client.run(['--help']);
  t.equal(code, 0);
  for (const command of [
    'post',
    'list',
    'get',
    'edit',
    'delete',
    'search',
    'tail',
    'export',
    'feeds',
    'forget',
  ])
    t.match(out, new RegExp(`^  nf ${command}\\b`, 'm'));
});
