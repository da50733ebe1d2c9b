/** The operator's endpoints from a terminal. */
import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { imageSettings, ON_SQLITE, OPERATOR_TOKEN } from '../support/image-settings.ts';
import { picture } from '../support/pictures.ts';
import { ask, start, tempDir } from '../support/service.ts';

t.setTimeout(60_000);

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;

/** Runs the command, with the settings of the one who runs the service. */
async function operator(
  url: string,
  args: readonly string[],
  { input = '', ...env }: Record<string, string> = {},
) {
  const settings = { SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN, OPERATOR_URL: url, ...env };
  const command = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, MAIN, 'operator', ...args], {
    env: { ...process.env, ...settings },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  command.stdin.end(input);
  const [out, err, code] = await Promise.all([
    text(command.stdout),
    text(command.stderr),
    new Promise((resolve) => command.on('close', resolve)),
  ]);
  return { out, err, code };
}

t.test('pictures are moved out of the database, some at a time, and the store is looked at', async (t) => {
  const before = await start(t, ON_SQLITE);
  const posted = [];
  for (let n = 0; n < 5; n += 1)
    posted.push(
      await new FeedClient(before.url, 'feed').post(picture('png', 900, n), { 'content-type': 'image/png' }),
    );
  await before.stop();
  const dir = join(await tempDir(t), 'pictures');
  const service = await start(t, { ...ON_SQLITE, ...imageSettings({ kind: 'fs', dir }) }, before.dir);
  const moved = await operator(service.url, ['move', '--from', 'db', '--limit', '2']);
  t.match(moved, { code: 0, err: '', out: /^Moved 5 pictures \(4500 bytes\)\. .*: 0\. .*: 0\. .*: 0\.\n$/ });
  t.equal((await readdir(dir)).filter((name) => name.length === 32).length, 5);
  for (const [n, { json }] of posted.entries())
    t.ok(picture('png', 900, n).equals((await ask(service.url + new URL(json.file_url).pathname)).bytes));
  for (const what of ['unreferenced', 'clean'])
    t.match(await operator(service.url, [what]), {
      code: 0,
      err: '',
      out: /^Store: fs\n.*: 0 \(0 bytes\)\n/,
    });
});

t.test('what cannot be done is said in a sentence, without the token', async (t) => {
  const { url } = await start(t, ON_SQLITE);
  for (const [args, env, sentence] of [
    [['unreferenced'], {}, /^The service refuses \(409 no_image_store\): /],
    [['unreferenced'], { SERVICE_OPERATOR_TOKEN: '' }, /^SERVICE_OPERATOR_TOKEN must be set/],
    [
      ['unreferenced'],
      { SERVICE_OPERATOR_TOKEN: 'another token that is long enough' },
      /^The service refuses \(401 auth\)/,
    ],
    [
      ['move', '--from', 's3', '--endpoint', 'https://s3.example'],
      {},
      /\(400 invalid_request\): bucket must be/,
    ],
    [['move'], {}, /^Note Feed takes no arguments but/],
    [['move', '--from', 's3', '--secret', 'hush'], {}, /^Note Feed takes no arguments but/],
    [['tidy'], {}, /^Note Feed takes no arguments but/],
  ] as const) {
    const { code, err } = await operator(url, args, env);
    t.equal(code, 1);
    t.match(err, sentence);
    t.notMatch(err, /another token|token of the operator for/);
  }
});

for (const [how, set] of [
  ['the secret of the data folder', {}],
  ['SERVICE_SECRET', { SERVICE_SECRET: 'a secret of tests that is long enough' }],
] as const)
  t.test(`with ${how}, the lines of a feed are found by the hash of its name`, async (t) => {
    const service = await start(t, { SERVICE_STORAGE: 'fs', ...set });
    const name = 'a-very-secret-feed';
    const { json } = await new FeedClient(service.url, name).post('x');
    await new FeedClient(service.url, 'another').post('x');
    await ask(json.read_url);
    t.equal((await ask(`${service.url}/api/v1/feeds/${name}/notes`)).status, 200);
    const env = { DATA_DIR: service.dir, SERVICE_OPERATOR_TOKEN: '', ...set };
    const { out, err, code } = await operator(service.url, ['hash', name], env);
    t.strictSame({ err, code }, { err: '', code: 0 });
    const found = service.lines.filter(({ fields }) => fields.feed === out.trim());
    t.strictSame(
      found.map(({ message, fields }) => fields.route ?? message),
      ['feed created', 'note posted', '/{feed}', '/api/v1/feeds/{feed}/notes'],
    );
    t.equal((await operator(service.url, ['hash', '-'], { ...env, input: `${name}\n` })).out, out);
    t.notMatch(JSON.stringify(service.lines), name);
  });

t.test('hash makes no secret, and does not repeat what is no name', async (t) => {
  const dir = await tempDir(t);
  const settings = { DATA_DIR: dir, SERVICE_STORAGE: 'fs' };
  const without = await operator('', ['hash', 'a-feed'], settings);
  t.match(without, { code: 1, out: '', err: /^SERVICE_SECRET must be set .*\.\n$/ });
  t.strictSame(await readdir(dir), []);
  const wrong = await operator('', ['hash', 'Not a name'], settings);
  t.match(wrong, { code: 1, out: '', err: /^This is not the name of a feed/ });
  t.notMatch(wrong.err, 'Not a name');
});
