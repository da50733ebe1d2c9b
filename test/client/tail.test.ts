/** `nf tail` shows each note once and in order, whatever happens to its connection. */
import { request } from 'node:http';
import t from 'tap';
import { CutProxy } from '../support/cut-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { Client, hostOf, outcomeOf, SHELLS } from '../support/nf.ts';
import { ask, post, start } from '../support/service.ts';

const { url, port } = await start(t);
let feeds = 0;
const newFeed = () => `followed-${process.pid}-${++feeds}`;

/** A client that follows a feed from now on until the test ends it. */
async function following(client: Client, ...args: string[]) {
  const child = client.start(['tail', ...args]);
  let out = '';
  child.stdout!.on('data', (piece) => {
    out += piece;
  });
  const outcome = outcomeOf(child);
  // It has looked what is there, so it shows all that comes.
  const isReady = await eventually(async () =>
    (await client.temporary()).some((file) => /\/events$/.test(file)),
  );
  if (!isReady) throw new Error((await outcome).errors);
  return { child, outcome, out: () => out, shows: (text: string) => eventually(() => out.includes(text)) };
}

for (const shell of SHELLS)
  t.test(shell.name, { skip: shell.skip }, async (t) => {
    t.test('what is posted, edited and deleted is shown', async (t) => {
      const feed = newFeed();
      const client = await Client.of(t, url, shell, feed);
      await post(`${url}/${feed}`, 'before');
      const tail = await following(client);
      const { id } = (await post(`${url}/${feed}`, `# "ÁÂé" \\ 😀 \u202e\n\n${'long \\" '.repeat(5000)}`))
        .json;
      t.ok(await tail.shows(`  ${id}  "ÁÂé" `), tail.out());
      await ask(`${url}/${feed}/${id}`, { method: 'PUT', body: 'new text' });
      t.ok(await tail.shows(`  ${id}  new text\n`));
      await ask(`${url}/${feed}/${id}`, { method: 'DELETE' });
      t.ok(await tail.shows(`gone    ${id}\n`));
      tail.child.kill('SIGTERM');
      const { code, out } = await tail.outcome;
      t.equal(code, 143);
      t.match(out, /^\d{4}-\d\d-\d\d \d\d:\d\d {2}\S+ {2}"ÁÂé" [^\n]*\nedited {2}\d{4}[^\n]*\ngone[^\n]*\n$/);
      t.notMatch(out, /before|\u202e/);
      t.same(await client.left(), []);
    });

    t.test('a connection that breaks loses no note and shows none twice', async (t) => {
      const feed = newFeed();
      const proxy = await CutProxy.start(t, port);
      const host = new URL(proxy.url).host;
      const client = await Client.install(t, url, shell, host);
      await client.remember(`http://${host}\twork\t${feed}\t=\t=\n`);
      const tail = await following(client, '--json');
      const posted: string[] = [];
      for (let at = 0; at < 4; at++) {
        if (at > 0) await proxy.cut();
        for (const text of ['away', 'also away']) posted.push((await post(`${url}/${feed}`, text)).json.id);
        await proxy.mend();
        posted.push((await post(`${url}/${feed}`, 'back')).json.id);
        t.ok(await tail.shows(posted.at(-1)!));
        // The place is that of the last note, not of the last event.
        await ask(`${url}/${feed}/${posted[0]}`, { method: 'PUT', body: `edited ${at}` });
        t.ok(await tail.shows(`edited ${at}`));
      }
      tail.child.kill('SIGINT');
      const { code, out } = await tail.outcome;
      t.equal(code, 130);
      const events = out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
        .filter(({ event }) => event !== 'edited');
      t.same(
        events.map(({ event, id, note }) => [event, id, note.id]),
        posted.map((id) => ['note', id, id]),
      );
      t.same(await client.left(), []);
    });

    t.test('it waits for a service that restarts behind a proxy', async (t) => {
      const feed = newFeed();
      let isUp = true;
      let refused = 0;
      let cut = () => {};
      const host = await hostOf(t, ({ url: path, headers }, response) => {
        if (!isUp) {
          if (path!.includes('/events')) refused += 1;
          response.writeHead(refused === 1 ? 429 : 502).end();
          return;
        }
        cut = () => response.destroy();
        request(url + path, { headers }, (answer) => {
          response.writeHead(answer.statusCode!, answer.headers);
          answer.on('error', () => {}).pipe(response);
          response.on('close', () => answer.destroy());
        }).end();
      });
      const client = await Client.install(t, url, shell, host);
      await client.remember(`http://${host}\twork\t${feed}\t=\t=\n`);
      const tail = await following(client);
      await post(`${url}/${feed}`, 'before');
      t.ok(await tail.shows('before'));
      isUp = false;
      cut();
      await eventually(() => refused >= 2 || tail.child.exitCode !== null);
      t.equal(tail.child.exitCode, null, 'it asks again');
      await post(`${url}/${feed}`, 'meanwhile');
      isUp = true;
      t.ok(await tail.shows('meanwhile'));
      tail.child.kill('SIGTERM');
      t.match(await tail.outcome, { code: 143, errors: '' });
    });

    t.test('it ends when nobody reads what it shows', async (t) => {
      const feed = newFeed();
      const client = await Client.of(t, url, shell, feed);
      await post(`${url}/${feed}`, 'before');
      for (const args of [[], ['--json']]) {
        const tail = await following(client, ...args);
        tail.child.stdout!.destroy();
        await post(`${url}/${feed}`, 'unread');
        t.match(await tail.outcome, { code: 141, errors: '' });
        t.same(await client.left(), []);
      }
    });

    t.test('it ends when the feed is closed to it', async (t) => {
      const feed = newFeed();
      const client = await Client.of(t, url, shell, feed, 'old');
      const headers = { 'x-feed-password': 'old' };
      await post(`${url}/${feed}`, 'first', headers);
      const tail = await following(client);
      await post(`${url}/${feed}`, 'second', headers);
      t.ok(await tail.shows('second'));
      const body = JSON.stringify({ password: 'new' });
      await ask(`${url}/api/v1/feeds/${feed}/password`, { method: 'PUT', body, headers });
      t.match(await tail.outcome, { code: 1, errors: /\(auth\)\n$/ });
      t.match(await client.run(['tail']), { code: 1, out: '', errors: /\(auth\)\n$/ });
    });
  });
