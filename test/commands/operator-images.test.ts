/** Looking after the image store from a terminal. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { imageSettings, ON_SQLITE } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { operator, operatorOnTerminal } from '../support/operator-command.ts';
import { picture } from '../support/pictures.ts';
import { ask, start, tempDir } from '../support/service.ts';

const noTerminal = missing('script');
t.setTimeout(600_000);

t.test(
  'pictures are moved out of the database, some at a time, and the store is looked at',
  { skip: noTerminal },
  async (t) => {
    const before = await start(t, ON_SQLITE);
    const posted = [];
    for (let n = 0; n < 5; n += 1)
      posted.push(
        await new FeedClient(before.url, 'feed').post(picture('png', 900, n), {
          'content-type': 'image/png',
        }),
      );
    await before.stop();
    const dir = join(await tempDir(t), 'pictures');
    const service = await start(t, { ...ON_SQLITE, ...imageSettings({ kind: 'fs', dir }) }, before.dir);
    const move = ['images', 'move', '--from', 'db', '--limit', '2'];
    const { out, ...moved } = await operator(service.url, move);
    t.strictSame(moved, { code: 0, err: '' });
    t.strictSame(JSON.parse(out), { moved: { count: 5, bytes: 4500 }, skipped: 0, missing: 0, failed: 0 });
    const { code, shown } = await operatorOnTerminal(service.url, move);
    t.equal(code, 0);
    // Before it there may be lines of progress.
    t.equal(
      shown.split('\r\u001b[K').at(-1),
      'Moved 0 pictures (0 bytes). There already or changed meanwhile: 5. In neither place: 0. ' +
        'Refused by a store, to be moved by another run: 0.\n',
    );
    t.equal((await readdir(dir)).filter((name) => name.length === 32).length, 5);
    for (const [n, { json }] of posted.entries())
      t.ok(picture('png', 900, n).equals((await ask(service.url + new URL(json.file_url).pathname)).bytes));
    for (const words of [['images', 'unreferenced'], ['images', 'clean'], ['clean']]) {
      const { out, ...rest } = await operator(service.url, words);
      t.strictSame(rest, { code: 0, err: '' });
      t.match(JSON.parse(out), { store: 'fs', unreferenced: { count: 0 }, missing: 0 });
    }
    t.match(await operatorOnTerminal(service.url, ['images', 'unreferenced']), {
      code: 0,
      shown: /^Store: fs\n.*: 0 \(0 bytes\)\n/,
    });
  },
);

t.test('what cannot be done is said in a sentence, without the token', async (t) => {
  const { url } = await start(t, ON_SQLITE);
  for (const [args, env, sentence] of [
    [['images', 'unreferenced'], {}, /^The service refuses \(409 no_image_store\): /],
    [['images', 'unreferenced'], { SERVICE_OPERATOR_TOKEN: '' }, /^SERVICE_OPERATOR_TOKEN must be set/],
    [
      ['images', 'unreferenced'],
      { SERVICE_OPERATOR_TOKEN: 'another token that is long enough' },
      /^The service refuses \(401 auth\)/,
    ],
    [
      ['images', 'move', '--from', 's3', '--endpoint', 'https://s3.example'],
      {},
      /\(400 invalid_request\): bucket must be/,
    ],
    [['images', 'move'], {}, /^Note Feed takes no arguments but/],
    [['images', 'move', '--from', 's3', '--secret', 'hush'], {}, /^Note Feed takes no arguments but/],
    [['images', 'unreferenced', '--limit', '2'], {}, /^Note Feed takes no arguments but/],
    [['images', 'tidy'], {}, /^Note Feed takes no arguments but/],
  ] as const) {
    const { code, err } = await operator(url, args, env);
    t.equal(code, 1);
    t.match(err, sentence);
    t.notMatch(err, /another token|token of the operator for/);
  }
});
