/** When something fails, the client for the terminal says so by its exit status, posts nothing twice and loses no text. */
import { chmod, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CutProxy } from '../support/cut-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { Client, hostOf, outcomeOf, SHELLS } from '../support/nf.ts';
import { ask, post, start } from '../support/service.ts';

const { url, port } = await start(t);
let feeds = 0;
const newFeed = () => `failing-${process.pid}-${++feeds}`;
const notesOf = async (feed: string) => (await ask(`${url}/api/v1/feeds/${feed}/notes`)).json.notes;

for (const shell of SHELLS) {
  /** A client of the instance at another address. */
  const clientAt = async (t: Test, host: string, feed: string) => {
    const client = await Client.install(t, url, shell, host);
    await client.remember(`http://${host}\twork\t${feed}\t=\t=\n`);
    return client;
  };
  const clientOf = async (t: Test, listener: RequestListener) =>
    clientAt(t, await hostOf(t, listener), 'feed');
  /** The text that the client has kept, and says where. */
  const keptText = async (t: Test, client: Client, errors: string) => {
    const [file] = (await client.left()).filter((name) => name.startsWith('unsent-'));
    const path = join(client.dir, 'config/note-feed', file ?? '');
    t.match(errors, `nf: Your text is kept in ${path}\n`);
    t.equal((await stat(path)).mode & 0o777, 0o600);
    return readFile(path, 'utf8');
  };

  t.test(shell.name, { skip: shell.skip }, async (t) => {
    t.test('a post whose answer is lost is sent again and makes one note', async (t) => {
      const feed = newFeed();
      const proxy = await CutProxy.start(t, port);
      const client = await clientAt(t, new URL(proxy.url).host, feed);
      const cut = proxy.cutIn('answer', `POST /api/v1/feeds/${feed}/notes `);
      const posting = client.run(['post'], { input: 'once' });
      await cut();
      t.equal((await notesOf(feed)).length, 1);
      await proxy.mend();
      t.match(await posting, { code: 0, errors: '' });
      t.equal((await notesOf(feed)).length, 1);
    });

    t.test('a service that is busy is asked again, with the same key', async (t) => {
      const keys: unknown[] = [];
      const client = await clientOf(t, (request, response) => {
        response.statusCode = [502, 504][keys.length] ?? 201;
        keys.push(request.headers['idempotency-key']);
        request.resume();
        response.end('{"id":"x","read_url":null}');
      });
      t.match(await client.run(['post'], { input: 'x' }), { code: 0, out: 'x\n' });
      t.equal(keys.length, 3);
      t.match(keys[0], /^[0-9a-f]{32}$/);
      t.equal(new Set(keys).size, 1);
    });

    t.test('edits and deletions are sent once, because the first may have been done', async (t) => {
      const sent: unknown[] = [];
      const client = await clientOf(t, ({ method }, response) => {
        if (method === 'GET') {
          response.end('{"type":"text/markdown","title":"x"}');
          return;
        }
        sent.push(method);
        response.writeHead(503).end();
      });
      t.match(await client.run(['edit', 'x', '-'], { input: 'new' }), { code: 1 });
      t.match(await client.run(['delete', 'x']), { code: 1 });
      t.same(sent, ['PUT', 'DELETE']);
    });

    t.test('a service that is not there is 69', async (t) => {
      const proxy = await CutProxy.start(t, port);
      const client = await clientAt(t, new URL(proxy.url).host, newFeed());
      await proxy.cut();
      t.match(await client.run(['list']), {
        code: 69,
        out: '',
        errors: /^nf: http:\S+ cannot be reached: curl: /,
      });
      t.same(await client.left(), []);
    });

    t.test('an export that breaks off leaves no file', async (t) => {
      const client = await clientOf(t, (_, response) => {
        response.writeHead(200, { 'Content-Length': 1000 }).write('PK');
        setImmediate(() => response.destroy());
      });
      await client.write('old.zip', 'old');
      t.match(await client.run(['export', 'old.zip']), { code: 69 });
      t.equal(await readFile(join(client.dir, 'old.zip'), 'utf8'), 'old');
      t.notOk((await readdir(client.dir)).some((name) => name.includes('part')));
    });

    t.test('an edit of a note that somebody changed meanwhile is kept', async (t) => {
      const feed = newFeed();
      const client = await Client.of(t, url, shell, feed);
      const { id } = (await post(`${url}/${feed}`, 'mine')).json;
      await client.write(
        'editor',
        `curl -fsS -X PUT --data-binary theirs ${url}/${feed}/${id} >/dev/null\necho 'my edit' >"$1"\n`,
      );
      const { code, errors } = await client.run(['edit', id], { env: { EDITOR: 'sh ./editor' } });
      t.equal(code, 1);
      t.match(errors, /\(changed\)\n/);
      t.equal(await keptText(t, client, errors), 'my edit\n');
      t.equal((await notesOf(feed))[0].content, 'theirs');
    });

    t.test('an edit is kept when the service is gone, and when a signal comes', async (t) => {
      const feed = newFeed();
      const proxy = await CutProxy.start(t, port);
      const { id } = (await post(`${url}/${feed}`, 'mine')).json;
      const editor = { EDITOR: 'sh ./editor' };
      const script = 'echo edited >"$1"\ntouch begun\nwhile [ ! -e go ]; do sleep 0.05; done\n';
      for (const end of ['gone', 'signal']) {
        const client = await clientAt(t, new URL(proxy.url).host, feed);
        await client.write('editor', script);
        const child = client.start(['edit', id], editor);
        const outcome = outcomeOf(child);
        t.ok(await eventually(async () => (await readdir(client.dir)).includes('begun')));
        if (end === 'gone') await proxy.cut();
        else child.kill('SIGTERM');
        await writeFile(join(client.dir, 'go'), '');
        const { code, errors } = await outcome;
        t.equal(code, end === 'gone' ? 69 : 143);
        t.equal(await keptText(t, client, errors), 'edited\n');
        await proxy.mend();
      }
    });

    t.test(
      'a full folder of settings takes neither what is remembered nor the text of an edit',
      async (t) => {
        const feed = newFeed();
        const client = await Client.of(t, url, shell, feed);
        const { id } = (await post(`${url}/${feed}`, 'mine')).json;
        // Its random names are known, so that its next files are the device that is always full.
        const od = '#!/bin/sh\ncase "$*" in *-N16*) echo 00 ;; *) exec /usr/bin/od "$@" ;; esac\n';
        // BusyBox's `od` is a link to BusyBox itself: writing through it would overwrite that.
        await rm(join(client.dir, 'programs/od'), { force: true });
        await client.write('programs/od', od);
        await chmod(join(client.dir, 'programs/od'), 0o755);
        const folder = join(client.dir, 'config/note-feed');
        for (const file of ['.feeds-00', 'unsent-00.md']) await symlink('/dev/full', join(folder, file));
        const before = await client.remembered();
        await client.remember(
          `${before}http://other.example\tother\t${feed}\t=\t=\n${before.replace('work', 'last')}`,
        );
        const remembered = await client.remembered();
        t.not((await client.run(['forget', 'last'])).code, 0);
        t.equal(await client.remembered(), remembered);
        await client.write('editor', `echo 'my edit' >"$1"\nexit 1\n`);
        const edited = await client.run(['edit', '-f', 'work', id], { env: { EDITOR: 'sh ./editor' } });
        t.equal(edited.code, 1);
        const written = join(client.dir, 'tmp/nf-00/note.md');
        t.match(edited.errors, `nf: Your text is still in ${written}\n`);
        t.equal(await readFile(written, 'utf8'), 'my edit\n');
        const left = await readdir(join(client.dir, 'tmp/nf-00'));
        t.same(
          left.filter((name) => !['before', 'note.md', 'problem'].includes(name)),
          [],
          'no file with names or passwords',
        );
      },
    );

    t.test(
      'what is typed on a terminal is kept if it is not stored',
      { skip: missing('script') },
      async (t) => {
        const feed = newFeed();
        const proxy = await CutProxy.start(t, port);
        const client = await clientAt(t, new URL(proxy.url).host, feed);
        const typed = ['then press Ctrl-D', 'mine\n\x04'] as const;
        t.match(await client.inTerminal(['post'], typed), { code: 0 });
        t.same(await client.left(), []);
        const [{ id }] = await notesOf(feed);
        proxy.loses = 'PUT /';
        for (const [args, code] of [
          [['post', '--expires', 'never'], 1],
          [['edit', id, '-'], 69],
        ] as const) {
          const outcome = await client.inTerminal(args, typed);
          t.equal(outcome.code, code, outcome.shown);
          t.equal(await keptText(t, client, outcome.shown.replaceAll('\r', '')), 'mine\n');
          await rm(join(client.dir, 'config/note-feed', (await client.left())[0]!));
        }
      },
    );

    t.test('a deletion leaves what is written while it asks', { skip: missing('script') }, async (t) => {
      const name = newFeed();
      const feed = new FeedClient(url, name);
      const { id } = (await feed.post('First')).json;
      const client = await Client.of(t, url, shell, name);
      const answer = async () => {
        await feed.put(`/notes/${id}`, 'Second');
        return 'y\n';
      };
      const { code, shown } = await client.inTerminal(['delete', id], ['[y/N]', answer]);
      t.equal(code, 1);
      t.match(shown, /changed/);
      t.equal((await feed.get(`/notes/${id}`)).json.content, 'Second');
    });

    t.test('a deletion asks on a terminal', { skip: missing('script') }, async (t) => {
      const feed = newFeed();
      const client = await Client.of(t, url, shell, feed);
      const { id } = (await post(`${url}/${feed}`, 'A "title"')).json;
      await client.inTerminal(['delete', id], ['Delete "A "title""? [y/N]', 'n\n']);
      t.equal((await notesOf(feed)).length, 1);
      await client.inTerminal(['delete', id], ['[y/N]', 'y\n']);
      t.same(await notesOf(feed), []);
      const next = (await post(`${url}/${feed}`, 'next')).json;
      t.notMatch((await client.inTerminal(['delete', '--yes', next.id])).shown, /y\/N/);
      t.same(await notesOf(feed), []);
    });
  });
}
