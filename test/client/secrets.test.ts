/** Names of feeds and passwords stay out of other people's sight, and nothing is left behind. */
import { once } from 'node:events';
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { missing } from '../support/installed.ts';
import { Client, outcomeOf, SHELLS } from '../support/nf.ts';
import { ask, start } from '../support/service.ts';

const { url } = await start(t, { SERVICE_PASSWORD: 'instance-secret' });
let feeds = 0;
const newFeed = () => `secret-feed-${process.pid}-${++feeds}`;
const PASSWORD = 'feed "pass\\word';

/** A server that reads requests and never answers. */
async function silentServer(t: Test) {
  const sockets = new Set<Socket>();
  let received = '';
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, received: () => received };
}

/** What the programs that work in a folder show to everybody, and what they inherit. */
async function shownBy(dir: string): Promise<string[]> {
  const shown: string[] = [];
  for (const id of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const place = await readlink(`/proc/${id}/cwd`).catch(() => '');
    if (!place.startsWith(dir)) continue;
    for (const file of ['cmdline', 'environ'])
      shown.push(await readFile(`/proc/${id}/${file}`, 'utf8').catch(() => ''));
  }
  return shown;
}

/** Lets each program write down its arguments before it does its work. Returns the environment for that, and what was written. */
async function spyOn(client: Client) {
  const own = join(client.dir, 'programs');
  const spies = join(client.dir, 'spies');
  const log = join(client.dir, 'called');
  await mkdir(spies);
  const path = `${own}:${process.env.PATH}`;
  const spy = `#!/bin/sh\necho "\${0##*/} $*" >>'${log}'\nPATH='${path}' exec "\${0##*/}" "$@"\n`;
  await writeFile(join(client.dir, 'spy'), spy, { mode: 0o755 });
  const folders = await Promise.all(path.split(':').map((folder) => readdir(folder).catch(() => [])));
  for (const name of new Set(folders.flat())) await symlink('../spy', join(spies, name));
  return { env: { PATH: `${spies}:${path}` }, called: () => readFile(log, 'utf8') };
}

for (const shell of SHELLS)
  t.test(shell.name, { skip: shell.skip }, async (t) => {
    const feed = newFeed();
    const lines = `${feed}\n${PASSWORD}\ninstance-secret\n`;

    t.test('what is remembered is read by its owner alone', async (t) => {
      const client = await Client.install(t, url, shell);
      t.match(await client.run(['login', 'work'], { input: lines }), { code: 0, out: '' });
      const folder = join(client.dir, 'config/note-feed');
      const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
      t.equal(await mode(folder), '700');
      t.equal(await mode(join(folder, 'feeds')), '600');
      await writeFile(join(client.dir, 'note.md'), 'x');
      t.match(await client.run(['post', 'note.md']), { code: 0 });
      t.equal((await ask(`${url}/api/v1/feeds/${feed}/notes`)).status, 401);
    });

    t.test('a slow upload shows no secret, and a signal ends it without a trace', async (t) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
        const { host, received } = await silentServer(t);
        const client = await Client.install(t, url, shell, host);
        const remembered = `http://${host}\twork\t${feed}\t=${PASSWORD}\t=instance-secret\n`;
        await client.remember(remembered);
        // What the caller exports under the names of the client's variables does not make these shown.
        const variables = 'name password bearer its_name its_password its_bearer api note answer line config';
        const env = Object.fromEntries(variables.split(' ').map((variable) => [variable, 'x']));
        const isLogin = signal === 'SIGHUP';
        const child = client.start(isLogin ? ['login', 'other'] : ['post', '--title', 'a title'], env);
        child.stdin!.end(isLogin ? lines : 'a text');
        const outcome = outcomeOf(child);
        t.ok(await eventually(() => received().includes(`X-Feed-Password: ${PASSWORD}\r\n`)));
        t.match(received(), `${isLogin ? 'GET' : 'POST'} /api/v1/feeds/${feed}/notes`);
        t.match(received(), 'Authorization: Bearer instance-secret\r\n');
        const shown = await shownBy(client.dir);
        t.ok(shown.some((text) => text.includes('curl')));
        for (const secret of [feed, 'pass\\word', 'instance-secret'])
          t.notOk(
            shown.some((text) => text.includes(secret)),
            secret,
          );
        child.kill(signal);
        t.not((await outcome).code, 0);
        t.same(await shownBy(client.dir), []);
        t.same(await client.left(), []);
      }
    });

    t.test('no program is called with a secret or with what a note says', async (t) => {
      const client = await Client.install(t, url, shell);
      const { env, called } = await spyOn(client);
      const run = async (args: readonly string[], input = '') => {
        const outcome = await client.run(args, { env, input });
        t.match(outcome, { code: 0 }, args.join(' '));
        return outcome.out;
      };
      const other = newFeed();
      await client.remember(`${url}\tother\tother-feed\t=other-password\t=\n`);
      await run(['login', 'work'], `${url}/${other}\n${PASSWORD}\ninstance-secret\n`);
      const posted = await run(['post', '-f', 'work'], '# the heading\n\nthe text');
      const id = posted.split(' ')[0]!;
      await run(['list', '-f', 'work']);
      await run(['get', '-f', 'work', id]);
      await run(['edit', '-f', 'work', id, '-'], '# the heading\n\nthe other text');
      const tail = client.start(['tail', '-f', 'work'], env);
      const outcome = outcomeOf(tail);
      t.ok(await eventually(async () => (await client.temporary()).some((file) => /\/events$/.test(file))));
      const shown = once(tail.stdout!, 'data');
      await run(['post', '-f', 'work'], '# the last heading');
      await shown;
      tail.kill('SIGTERM');
      t.match((await outcome).out, 'the last heading');
      await run(['delete', '-f', 'work', id]);
      await run(['export', '-f', 'work', 'all.zip']);
      await run(['feeds']);
      await run(['forget', 'work']);
      const lines = (await called()).split('\n');
      t.ok(lines.some((line) => line.startsWith('curl ')));
      const secrets = [other, 'pass\\word', 'instance-secret', 'other-feed', 'other-password', 'heading'];
      t.same(
        lines.filter((line) => secrets.some((secret) => line.includes(secret))),
        [],
      );
    });

    t.test('a terminal does not show what is typed', { skip: missing('script') }, async (t) => {
      const client = await Client.install(t, url, shell);
      const other = newFeed();
      const typed = [
        ['Name of the feed', `${other}\n`],
        ['Password of the feed', 'typed-secret\n'],
        ['Password of the instance', 'instance-secret\n'],
      ] as const;
      const { code, shown } = await client.inTerminal(['login', 'work'], ...typed);
      t.equal(code, 0, shown);
      t.match(shown, 'remembered as work');
      for (const [, secret] of typed) t.notMatch(shown, secret.trim());
      t.match(await client.run(['post'], { input: 'x' }), { code: 0 });
      await client.remember((await client.remembered()).replace('typed-secret', 'forgotten'));
      t.match(await client.run(['list']), { code: 1 });
      const asked = await client.inTerminal(
        ['list', '--password'],
        ['Password of the feed', 'typed-secret\n'],
      );
      t.equal(asked.code, 0, asked.shown);
      t.notMatch(asked.shown, 'typed-secret');
      t.same(await client.left(), []);
    });

    t.test('the settings of curl of who runs it do not count', async (t) => {
      const client = await Client.install(t, url, shell);
      const env = { HOME: client.dir, CURL_HOME: client.dir };
      await client.write('.curlrc', 'proxy = "http://127.0.0.1:1"\n');
      t.match(await client.run(['login', 'work'], { env, input: lines }), { code: 0 });
    });

    t.test('another instance gets nothing', async (t) => {
      const client = await Client.install(t, url, shell);
      await client.remember(`http://other.example\twork\t${feed}\t=\t=\n`);
      t.match(await client.run(['list']), { code: 2, errors: /No feed is remembered/ });
      t.match(await client.run(['login', 'work'], { input: lines }), { code: 0 });
      t.match(await client.run(['forget', 'work']), { code: 0 });
      t.equal(await client.remembered(), `http://other.example\twork\t${feed}\t=\t=\n`);
    });
  });
