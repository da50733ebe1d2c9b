/** Operating an instance from a terminal: feeds, what is closed, and reports. */
import { hash } from 'node:crypto';
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { operator, operatorOnTerminal } from '../support/operator-command.ts';
import { picture } from '../support/pictures.ts';
import { ask, start } from '../support/service.ts';

const noTerminal = missing('script');
t.setTimeout(600_000);

const PNG = { 'content-type': 'image/png' };
const { url } = await start(t, { ...WITH_OPERATOR, SERVICE_REPORT_URL: 'builtin' });

/** What a command prints in a pipe. */
async function printed(args: readonly string[], input?: string) {
  const { out, ...rest } = await operator(url, args, { ...(input !== undefined && { input }) });
  t.strictSame(rest, { err: '', code: 0 }, args.join(' '));
  return out === '' ? undefined : JSON.parse(out);
}

t.test('sums and feeds', { skip: noTerminal }, async (t) => {
  const smew = new FeedClient(url, 'smew');
  await smew.post('x'.repeat(2000));
  const { json } = await new FeedClient(url, 'smart', { 'x-feed-password': 'pass' }).post('x');
  await new FeedClient(url, 'teal').post('xx');
  await smew.set({ title: 'A bird' });
  const sums = await printed(['stats']);
  t.match(sums, { feeds: 3, notes: 3, bytes: 2003 });
  t.strictSame(sums, (await operate(url, 'GET', '/stats')).json);
  const shown = await operatorOnTerminal(url, ['stats']);
  t.match(shown, { code: 0, shown: /^version {3}\d/ });
  t.match(shown.shown, /\nbytes {5}2,003\n$/);

  const names = async (...args: string[]) =>
    (await printed(['feeds', ...args])).feeds.map(({ name }: { name: string }) => name);
  t.strictSame(await names(), ['smew', 'teal', 'smart']);
  t.strictSame(await names('--sort', 'name', '--limit', '2'), ['smart', 'smew']);
  t.strictSame(await names('--start', 'sm'), ['smew', 'smart']);
  const table = await operatorOnTerminal(url, ['feeds', '--start', 'sm']);
  const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d`;
  const [head, first, second] = table.shown.split('\n');
  t.equal(head, `bytes  notes  pictures  changed (UTC)     name   read id${' '.repeat(17)}state      title`);
  t.match(first, new RegExp(`^2,000      1         0  ${time}  smew   [\\w-]{22}             A bird$`));
  t.match(
    second,
    new RegExp(`^    1      1         0  ${time}  smart  ${readIdIn(json.read_url)}  protected$`),
  );
});

t.test('a list of more than one page is printed whole', async (t) => {
  const names = Array.from({ length: 1001 }, (_, n) => `page-${String(n).padStart(4, '0')}`);
  for (let n = 0; n < names.length; n += 50)
    await Promise.all(names.slice(n, n + 50).map((name) => operate(url, 'PUT', `/blocks/${name}`)));
  const { blocks } = await printed(['blocks']);
  t.strictSame(
    blocks.map(({ key }: { key: string }) => key),
    names,
  );
});

t.test(
  'passwords come from standard input or are typed, and are never shown',
  { skip: noTerminal },
  async (t) => {
    const feed = new FeedClient(url, 'snipe', { 'x-feed-password': 'forgotten' });
    await feed.post();
    const opens = async (password: string) =>
      t.equal((await feed.with({ 'x-feed-password': password }).list()).status, 200, password);
    t.equal(await printed(['password', 'snipe'], 'second\n'), undefined);
    await opens('second');
    await printed(['password', '-'], 'snipe\nthird\n');
    await opens('third');

    const typed = await operatorOnTerminal(
      url,
      ['password', 'snipe'],
      [
        ['New password: ', 'fourth\r'],
        ['Again: ', 'fourth\r'],
      ],
    );
    t.strictSame(typed, {
      code: 0,
      shown:
        'New password: \nAgain: \nThe password is changed. Every browser that had unlocked the feed is locked out.\n',
    });
    await opens('fourth');
    const differ = await operatorOnTerminal(
      url,
      ['password', 'snipe'],
      [
        ['New password: ', 'fifth\r'],
        ['Again: ', 'sixth\r'],
      ],
    );
    t.match(differ, { code: 1, shown: /The two passwords differ: nothing is changed\.\n$/ });
    const given = await operatorOnTerminal(url, ['password', 'snipe'], [['New password: ', '\x03']]);
    t.match(given, { code: 1, shown: /Nothing is changed\.\n$/ });
    await opens('fourth');
    await printed(['password', 'snipe', '--remove']);
    t.equal((await new FeedClient(url, 'snipe').list()).status, 200);
  },
);

t.test('what is piped in may come late, as from a program that asks for a password first', async (t) => {
  const feed = new FeedClient(url, 'godwit', { 'x-feed-password': 'forgotten' });
  await feed.post();
  const input = { input: 'godwit\nanother\n' };
  t.strictSame(await operator(url, ['password', '-'], input, 3_000), { out: '', err: '', code: 0 });
  t.equal((await feed.with({ 'x-feed-password': 'another' }).list()).status, 200);
});

t.test('a feed is closed, opened and deleted', { skip: noTerminal }, async (t) => {
  const feed = new FeedClient(url, 'dunlin');
  await feed.post();
  await printed(['block', '-'], 'dunlin\n');
  t.match((await feed.post()).json, { code: 'blocked' });
  t.match(await operatorOnTerminal(url, ['unblock', 'dunlin']), { code: 0, shown: 'It is open again.\n' });
  t.equal((await feed.post()).status, 201);
  await printed(['delete', 'dunlin']);
  t.equal((await feed.get()).status, 404);
});

t.test(
  'what is taken down stays away until it is opened as the list of blocks names it',
  { skip: noTerminal },
  async (t) => {
    const [gone, pictures] = [new FeedClient(url, 'avocet'), new FeedClient(url, 'plover')];
    const { json } = await gone.post();
    const bytes = picture('png', 300);
    const file = (await pictures.post(bytes, PNG)).json;
    t.strictSame(await printed(['takedown', json.read_url, '--block']), { removed: 1 });
    t.strictSame(await operatorOnTerminal(url, ['takedown', file.file_url, '--block']), {
      code: 0,
      shown: 'Notes that were removed: 1\n',
    });
    const readId = readIdIn(json.read_url);
    const sha256 = hash('sha256', bytes, 'base64url');
    const { shown } = await operatorOnTerminal(url, ['blocks']);
    const lines = shown.split('\n').map((line) => line.slice('2026-11-24 09:30  '.length).split(/ {2,}/));
    t.strictSame(
      lines.filter(([what = '']) => !what.startsWith('page-')),
      [
        ['what', 'taken down'],
        ['avocet', `/r/${readId}`],
        [`link:${readId}`, `/r/${readId}`],
        [`picture:${sha256}`, new URL(file.file_url).pathname],
        [''],
      ],
    );
    t.equal((await ask(json.read_url)).status, 410);
    for (const what of ['avocet', `link:${readId}`, `picture:${sha256}`]) await printed(['unblock', what]);
    t.equal((await ask(json.read_url)).status, 200);
    t.equal((await gone.post(bytes, PNG)).status, 201);
  },
);

t.test('reports are read and dismissed', { skip: noTerminal }, async (t) => {
  t.match(await operatorOnTerminal(url, ['reports']), { code: 0, shown: 'No open reports.\n' });
  const form = {
    target: '/r/some-feed/note',
    reason: 'One\r\n\r\ntwo\u202e\x1b[2J',
    contact: 'me@example.org',
  };
  const sent = await new Browser(url).submit('/report', form);
  t.equal(sent.status, 303);
  const { reports } = await printed(['reports']);
  t.match(reports, [{ target: `${url}/r/some-feed/note`, reason: 'One\n\ntwo\u202e [2J' }]);
  const { shown } = await operatorOnTerminal(url, ['reports']);
  const [first, ...rest] = shown.split('\n');
  t.match(first, /^\d{4}-\d\d-\d\d \d\d:\d\d {2}http:\/\/.*\/r\/some-feed\/note$/);
  const lines = ['  One', '  ', '  two  [2J', '  Contact: me@example.org', `  dismiss ${reports[0].id}`, ''];
  t.strictSame(rest, lines);
  await printed(['dismiss', reports[0].id]);
  t.strictSame(await printed(['reports']), { reports: [] });
});

t.test('what cannot be done is said in a sentence', async (t) => {
  const usage = /^Note Feed takes no arguments but/;
  for (const [args, sentence] of [
    [['delete', 'nobody'], /^The service refuses \(404 not_found\): /],
    [['delete', 'No Name'], /^This is not the name of a feed/],
    [['delete'], usage],
    [['stats', 'x'], usage],
    [['feeds', '--limit', '0'], usage],
    [['feeds', '--block'], usage],
    [['takedown', '/r/some-feed', '--sort', 'name'], usage],
    [['toString'], usage],
    [
      ['feeds', '--sort', 'size'],
      /^The service refuses \(400 invalid_request\): sort must be one of bytes, /,
    ],
    [['takedown', 'https://other.example/x'], /\(400 invalid_request\)/],
    [['unblock', 'link:nobody'], /\(404 not_found\)/],
    [['dismiss', '../stats'], /\(404 not_found\)/],
    [['password', 'snipe'], /\(40\d \w+\)/],
  ] as const) {
    const { code, err, out } = await operator(url, args);
    t.strictSame([code, out], [1, ''], args.join(' '));
    t.match(err, sentence);
    t.notMatch(err, /No Name/);
  }
});
