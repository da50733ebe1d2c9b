/** What a start makes of the intents that a crash left; how they come about is in `files-crash.soak.ts`. */
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { NoteIds } from '../../src/feeds/ids.ts';
import { eventually } from '../support/eventually.ts';
import { feedName } from './contract.ts';
import { dataFolder, keptLog, opened } from './files-support.ts';

const name = feedName('very-secret-name');
const ids = new NoteIds();
const INTENT = '.intent-nfs-01234567-89ab-4def-8123-456789abcdef';
const TEMP = '.tmp-nfs-11234567-89ab-4def-8123-456789abcdef';
const OTHER_TEMP = '.tmp-nfs-31234567-89ab-4def-8123-456789abcdef';
const picture = `${ids.next()}.png`;
const text = `${ids.next()}.md`;
const outside = ['.lock', 'outside.md'];

/** A data folder with a feed of a text, a picture with metadata, an intent, and whatever else is given. */
async function crashed(t: Test, intent: string, others: readonly string[] = []): Promise<string> {
  const dir = await dataFolder(t);
  await writeFile(join(dir, 'outside.md'), 'not of this feed');
  await addFeed(join(dir, name), intent, others);
  return dir;
}

async function addFeed(folder: string, intent: string, others: readonly string[]): Promise<void> {
  await mkdir(folder);
  await writeFile(join(folder, INTENT), intent);
  for (const file of ['.readid', '.password', text, picture, `.${picture}.json`, ...others])
    await writeFile(join(folder, file), file === '.readid' ? basename(folder) : 'some-text');
}

async function namesAfterStart(t: Test, dir: string): Promise<{ names: string[]; lines: string[] }> {
  const log = keptLog();
  await opened(t, dir, { log });
  t.same((await readdir(dir)).sort(), [...outside, name].sort());
  return { names: (await readdir(join(dir, name))).sort(), lines: log.lines };
}

const added = [`.${picture}.json`, picture];
const kept = ['.password', '.readid', text];

t.test('what was added goes while the last file has its temp name, and stays afterwards', async (t) => {
  const intent = JSON.stringify({ added, last: TEMP });
  const before = await namesAfterStart(t, await crashed(t, intent, [TEMP]));
  t.same(before, { names: kept, lines: [] });
  const after = await namesAfterStart(t, await crashed(t, intent));
  t.same(after, { names: [...added, ...kept].sort(), lines: [] });
});

t.test('what an intent plans is done, as far as its files are there', async (t) => {
  const moves = [
    [TEMP, text],
    [OTHER_TEMP, `${picture}`],
  ];
  const removed = [`.${picture}.json`, 'gone.md'];
  const intent = JSON.stringify({ moves, removed });
  const dir = await crashed(t, intent, [TEMP]);
  await writeFile(join(dir, name, TEMP), 'new text');
  t.same(await namesAfterStart(t, dir), { names: [picture, ...kept].sort(), lines: [] });
  t.equal(await readFile(join(dir, name, text), 'utf8'), 'new text');
  t.equal(await readFile(join(dir, name, picture), 'utf8'), 'some-text', 'it was made before');
  const inTheWay = await crashed(t, JSON.stringify({ moves: [[TEMP, 'folder.md']], removed: [] }), [TEMP]);
  await mkdir(join(inTheWay, name, 'folder.md'));
  t.same((await namesAfterStart(t, inTheWay)).names, [...added, 'folder.md', ...kept].sort());
});

t.test('a start that was cut short is done again by the next one', async (t) => {
  const absent = [`.${ids.next()}.gif.json`, `${ids.next()}.gif`];
  const intent = JSON.stringify({ added: [...absent, ...added], last: TEMP });
  const dir = await crashed(t, intent, [TEMP]);
  t.same((await namesAfterStart(t, dir)).names, kept);
  const redone = await crashed(t, JSON.stringify({ added: absent, last: TEMP }));
  t.same((await namesAfterStart(t, redone)).names, [...added, ...kept].sort());
});

t.test('an intent that the service did not write removes nothing, and names no feed', async (t) => {
  const first = `${name}-0`;
  const wrong: unknown[] = [
    { added: ['.readid'], last: TEMP },
    { added: ['.password'], last: TEMP },
    { added: [picture, '../outside.md'], last: TEMP },
    { added: [`../${first}/${picture}`], last: TEMP },
    { added: [`.${picture}.json`, '..md.json'], last: TEMP },
    { added: ['.feed.json'], last: TEMP },
    { added: ['', picture], last: TEMP },
    { added: [INTENT], last: TEMP },
    { added: [picture, 7], last: TEMP },
    { added: [`${picture}\0`], last: TEMP },
    { added: picture, last: TEMP },
    { added, last: picture },
    { added, last: `../${first}/${TEMP}` },
    { added },
    { last: TEMP },
    { moves: [[TEMP, '.password']], removed: [] },
    { moves: [[TEMP, '.license']], removed: [] },
    { moves: [[TEMP, `../${first}/${text}`]], removed: [] },
    { moves: [[picture, text]], removed: [] },
    { moves: [TEMP], removed: [] },
    { moves: [], removed: ['.password'] },
    { moves: [] },
    [],
    null,
    7,
  ];
  const intents = [...wrong.map((one) => JSON.stringify(one)), '', '{"added": [', `{}${' '.repeat(300_000)}`];
  const dir = await dataFolder(t);
  await writeFile(join(dir, 'outside.md'), 'not of this feed');
  const feeds = intents.map((_, i) => join(dir, `${name}-${i}`));
  for (const [i, folder] of feeds.entries()) await addFeed(folder, intents[i]!, [TEMP]);
  const log = keptLog();
  await opened(t, dir, { log });
  t.equal((await readdir(dir)).length, outside.length + feeds.length);
  for (const [i, folder] of feeds.entries())
    t.same((await readdir(folder)).sort(), [INTENT, ...added, ...kept].sort(), intents[i]!.slice(0, 80));
  t.equal(log.lines.length, intents.length);
  for (const line of log.lines) {
    t.match(line, /unfinished/);
    t.notMatch(line, name);
  }
});

t.test('links and folders of such names are left alone', async (t) => {
  const dir = await crashed(t, JSON.stringify({ added: ['link.md', 'folder.md', picture], last: TEMP }), [
    TEMP,
  ]);
  await symlink(join(dir, 'outside.md'), join(dir, name, 'link.md'));
  await mkdir(join(dir, name, 'folder.md'));
  const other = '.intent-nfs-21234567-89ab-4def-8123-456789abcdef';
  await symlink(join(dir, name, INTENT), join(dir, name, other));
  await writeFile(join(dir, name, '.intent-nfs-mine'), JSON.stringify({ added: [text], last: TEMP }));
  const { names, lines } = await namesAfterStart(t, dir);
  const theirs = ['.intent-nfs-mine', other, 'folder.md', 'link.md'];
  t.same(names, [...kept, ...theirs].sort());
  t.same(lines, []);
  t.equal(await readFile(join(dir, 'outside.md'), 'utf8'), 'not of this feed');
});

t.test('in a folder that appears while running nothing is removed; the next start does it', async (t) => {
  const dir = await dataFolder(t);
  const storage = await opened(t, dir);
  const made = await crashed(t, JSON.stringify({ added, last: TEMP }), [TEMP]);
  await mkdir(join(dir, name));
  for (const file of await readdir(join(made, name)))
    await writeFile(join(dir, name, file), await readFile(join(made, name, file)));
  t.ok(await eventually(async () => (await storage.feed(name))?.noteCount === 2));
  t.same(await readdir(join(dir, name)), await readdir(join(made, name)));
  await storage.close();
  const again = await opened(t, dir);
  t.match(await again.feed(name), { noteCount: 1, imageCount: 0 });
  t.same((await readdir(join(dir, name))).sort(), kept);
});
