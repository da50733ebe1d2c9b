/** What was written shows: a post to the next request, a change by hand soon. */
import { rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const { url, dir } = await start(t);

/** Every view that shows a feed's notes. */
function views(name: string, readId: string): string[] {
  return [
    ...[`/r/${readId}/feed.xml`, `/r/${readId}/feed.json`, `/r/${readId}/feed.xml?tag=all`],
    ...[`/api/v1/read/${readId}/notes`, `/api/v1/read/${readId}/notes?tag=all&limit=3`],
    ...[`/api/v1/feeds/${name}/notes`, `/api/v1/feeds/${name}/notes?limit=1`],
  ];
}

const readIdOf = (readUrl: string) => readUrl.split('/').at(-2)!;

t.test('a post is visible to the next request, on every view and in every coding', async (t) => {
  const tagged = { 'x-note-tags': 'all' };
  const { json } = await post(`${url}/fresh`, 'begin', tagged);
  const paths = views('fresh', readIdOf(json.read_url));
  for (let i = 0; i < 10; i += 1) {
    const note = await post(`${url}/fresh`, `marked-${i}. ${'word '.repeat(400)}`, tagged);
    for (const path of paths)
      for (const coding of ['gzip', 'identity'])
        t.match(
          (await ask(url + path, { headers: { 'accept-encoding': coding } })).text,
          `marked-${i}.`,
          path,
        );
    t.equal((await ask(note.json.file_url)).status, 200);
    t.equal((await ask(`${url}/api/v1/feeds/fresh/notes/${note.json.id}`)).status, 200);
  }
});

t.test('a file that was not there is served once it is posted', async (t) => {
  const { json } = await post(`${url}/late`, 'begin');
  const id = readIdOf(json.read_url);
  t.equal((await ask(`${url}/r/${id}/late.md`)).status, 404);
  const unknown = await ask(`${url}/r/chosen-later/feed.xml`);
  t.notMatch(unknown.text, '<item>');
  await post(`${url}/later`, 'now', { 'x-read-id': 'chosen-later' });
  t.match((await ask(`${url}/r/chosen-later/feed.xml`)).text, '<item>');
});

/** Does something by hand and waits until `isShown`. */
async function shows(
  t: Test,
  what: string,
  change: () => Promise<unknown>,
  isShown: () => Promise<boolean>,
): Promise<void> {
  t.equal(await isShown(), false, `${what}: not before`);
  await change();
  t.ok(await eventually(isShown), what);
}

t.test('changes by hand show on RSS, list and file', async (t) => {
  const { json } = await post(`${url}/by-hand`, 'begin');
  const readId = readIdOf(json.read_url);
  const folder = join(dir, 'by-hand');
  const [rss, list] = [`${url}/r/${readId}/feed.xml`, `${url}/api/v1/read/${readId}/notes`];
  const feed = `${url}/api/v1/read/${readId}`;
  const file = (name: string) => `${url}/r/${readId}/${name}`;
  const everywhere = async (text: string, name: string) => {
    const replies = [await exactly(rss), await exactly(list), await exactly(file(name))];
    return replies.every((reply) => reply.status === 200 && reply.text.includes(text));
  };
  const nowhere = async (text: string, name: string) => {
    const shown = [await exactly(rss), await exactly(list)].some((reply) => reply.text.includes(text));
    return !shown && (await exactly(file(name))).status === 404;
  };
  const listed = async (text: string) =>
    (await exactly(rss)).text.includes(text) && (await exactly(list)).text.includes(text);

  const note = join(folder, 'hand.md');
  await shows(
    t,
    'added',
    () => writeFile(note, 'added by hand'),
    () => everywhere('added by hand', 'hand.md'),
  );
  await shows(
    t,
    'edited',
    () => writeFile(note, 'edited by me!'),
    () => everywhere('edited by me!', 'hand.md'),
  );
  await shows(
    t,
    'replaced',
    async () => {
      await writeFile(join(folder, '.new'), 'renamed over it');
      await rename(join(folder, '.new'), note);
    },
    () => everywhere('renamed over it', 'hand.md'),
  );
  const meta = join(folder, '.hand.md.json');
  await shows(
    t,
    'titled',
    () => writeFile(meta, '{"title":"By hand"}'),
    () => listed('By hand'),
  );
  await shows(
    t,
    'tagged',
    () => writeFile(meta, '{"tags":["mine"]}'),
    async () => (await exactly(`${rss}?tag=mine`)).text.includes('<item>'),
  );
  await shows(
    t,
    'without metadata',
    () => rm(meta),
    async () => !(await listed('mine')),
  );
  const title = '{"title":"My title","description":"My words"}';
  await shows(
    t,
    'the feed titled',
    () => writeFile(join(folder, '.feed.json'), title),
    async () =>
      (await exactly(rss)).text.includes('<title>My title</title>') &&
      (await ask(feed)).json.title === 'My title',
  );
  const gif = picture('gif', 300);
  await shows(
    t,
    'a picture added',
    () => writeFile(join(folder, 'cat.gif'), gif),
    async () =>
      (await exactly(file('cat.gif'))).bytes.equals(gif) && (await exactly(rss)).text.includes('cat.gif"'),
  );
  await shows(
    t,
    'a title image',
    () => writeFile(join(folder, '.feed.json'), '{"image":"cat.gif"}'),
    async () => (await ask(feed)).json.image_url === file('cat.gif'),
  );
  await shows(
    t,
    'the title image removed',
    () => unlink(join(folder, 'cat.gif')),
    async () => (await ask(feed)).json.image_url === null && (await exactly(file('cat.gif'))).status === 404,
  );
  await shows(
    t,
    'removed',
    () => unlink(note),
    () => nowhere('renamed over it', 'hand.md'),
  );
});

t.test('a feed removed and one brought by hand', async (t) => {
  const { json } = await post(`${url}/gone`, 'begin');
  t.match((await ask(json.read_url)).text, '<item>');
  await shows(
    t,
    'removed',
    () => rm(join(dir, 'gone'), { recursive: true }),
    async () =>
      !(await exactly(json.read_url)).text.includes('<item>') &&
      (await exactly(json.file_url)).status === 404 &&
      (await exactly(`${url}/api/v1/feeds/gone`)).status === 404,
  );
  await shows(
    t,
    'renamed',
    async () => {
      await post(`${url}/old-name`, 'moved');
      await rename(join(dir, 'old-name'), join(dir, 'new-name'));
    },
    async () => (await exactly(`${url}/api/v1/feeds/new-name/notes`)).text.includes('moved'),
  );
});

t.test(
  'readers of a cold view, 100 at once and posts in between, see all that was acknowledged',
  async (t) => {
    const { json } = await post(`${url}/busy`, 'note 0');
    const readId = readIdOf(json.read_url);
    const paths = [`/r/${readId}/feed.xml`, `/api/v1/read/${readId}/notes`, '/api/v1/feeds/busy/notes'];
    let acknowledged = 1;
    const late: string[] = [];
    const reader = async (path: string) => {
      const before = Math.min(acknowledged, 50);
      const { text } = await ask(url + path);
      const seen = text.match(/<item>|"created_at"/g)?.length ?? 0;
      if (seen < before) late.push(`${path}: ${seen} of ${before}`);
    };
    for (let round = 1; round < 20; round += 1) {
      const readers = Array.from({ length: 100 }, (_, i) => reader(paths[i % paths.length]!));
      const posts = [1, 2].map(async (part) => {
        await post(`${url}/busy`, `note ${round}.${part}`);
        acknowledged += 1;
        await reader(paths[round % paths.length]!);
      });
      await Promise.all([...readers, ...posts]);
    }
    t.strictSame(late, []);
    t.equal(acknowledged, 39);
    t.equal((await ask(url + paths[1]!)).json.notes.length, 39);
  },
);
