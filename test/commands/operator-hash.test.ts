/** What stands for a feed in the log, from a terminal. */
import { readdir } from 'node:fs/promises';
import t from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { operator } from '../support/operator-command.ts';
import { ask, start, tempDir } from '../support/service.ts';

t.setTimeout(600_000);

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
