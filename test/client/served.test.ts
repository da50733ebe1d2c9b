/** Each instance serves the client for the terminal with its own address, and its pages show how to install it. */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { VERSION } from '../../src/version.ts';
import { missing, program } from '../support/installed.ts';
import { Client, SHELLS } from '../support/nf.ts';
import { ask, post, start, tempDir } from '../support/service.ts';

const run = promisify(execFile);

t.test('it is a script that nobody keeps for another', async (t) => {
  const { url } = await start(t);
  const { status, headers, text } = await ask(`${url}/static/nf`);
  t.equal(status, 200);
  t.equal(headers.get('content-type'), 'text/x-shellscript; charset=utf-8');
  t.equal(headers.get('cache-control'), 'no-store');
  t.match(text, /^#!\/bin\/sh\n/);
  t.notMatch(text, /@[A-Z]+@/);
  t.match(text, `\nbase='${url}'\nversion='${VERSION}'\n`);
});

t.test('its address is the one that people use', async (t) => {
  const publicUrl = "https://notes.example/it's";
  const { url } = await start(t, { PUBLIC_URL: publicUrl });
  for (const shell of SHELLS)
    t.test(shell.name, { skip: shell.skip }, async (t) => {
      const client = await Client.install(t, url, shell, 'other.example');
      t.equal((await client.run(['--version'])).out, `nf ${VERSION} of ${publicUrl}\n`);
    });
});

t.test('without PUBLIC_URL it is the one that it was fetched from', { skip: missing('curl') }, async (t) => {
  const { url } = await start(t);
  const client = await Client.install(t, url, SHELLS[0]!, 'other.example:8080');
  t.match(await readFile(client.file, 'utf8'), "\nbase='http://other.example:8080'\n");
});

t.test('shellcheck finds nothing', { skip: missing('shellcheck') }, async (t) => {
  const file = join(import.meta.dirname, '../../src/web/nf.sh');
  t.same(await run(program('shellcheck'), ['-s', 'sh', file]), { stdout: '', stderr: '' });
});

t.test('the command on the pages installs it', { skip: missing('curl') }, async (t) => {
  const { url } = await start(t);
  await post(`${url}/my-feed`, 'x');
  const command = `curl -fsS --create-dirs -o ~/.local/bin/nf ${url}/static/nf && chmod +x ~/.local/bin/nf`;
  const shown = command.replaceAll('&', '&amp;');
  for (const page of ['/', '/my-feed/settings']) t.match((await ask(url + page)).text, `>${shown}</code>`);
  const HOME = await tempDir(t);
  await run('/bin/sh', ['-c', command], { env: { PATH: process.env.PATH, HOME } });
  const installed = join(HOME, '.local/bin/nf');
  t.equal((await stat(installed)).mode & 0o100, 0o100);
  t.equal(await readFile(installed, 'utf8'), (await ask(`${url}/static/nf`)).text);
});
