import { createHash } from 'node:crypto';
import { appendFile, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { ReadId } from '../../src/feeds/names.ts';
import type { OperatorRecord, OperatorRecordKind } from '../../src/storage/operator-records.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { edits, post, reads } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { dataFolder, keptLog, opened } from './files-support.ts';

const name = feedName('feed');
const sha256 = (text: string) => createHash('sha256').update(text);

function record(kind: OperatorRecordKind, key: string, value = 'because', at = 1_000): OperatorRecord {
  return { kind, key, value, at };
}

const keysOf = async (storage: Storage, kind: OperatorRecordKind) =>
  (await storage.records.list(kind, { after: '', limit: 100 })).map(({ key }) => key);

const ALL = [
  record('name', name, 'tab\t, line\n, "quotes" and ünïcode'),
  record('link', 'some-Read_id', ''),
  record('picture', sha256('picture').digest('base64url')),
  record('report', '0001', JSON.stringify({ reason: 'line\nline' })),
  record('report', '0002', '{}', Date.UTC(2026, 1, 3)),
];

t.test('records are there after a start as they were, and gone if they were removed', async (t) => {
  const dir = await dataFolder(t);
  const first = await opened(t, dir);
  for (const one of ALL) t.ok(await first.records.add(one));
  for (const one of ALL) t.notOk(await first.records.add({ ...one, value: 'another' }));
  await first.close();
  const second = await opened(t, dir);
  for (const one of ALL) t.same(await second.records.find(one.kind, ['other', one.key]), [one]);
  t.equal(await second.records.count('report'), 2);
  for (const one of ALL) t.ok(await second.records.remove(one.kind, one.key));
  for (const one of ALL) t.notOk(await second.records.remove(one.kind, one.key));
  await second.close();
  const third = await opened(t, dir);
  for (const { kind } of ALL) t.equal(await third.records.count(kind), 0);
});

t.test('a closed feed takes nothing more and is found under no read link, also after a start', async (t) => {
  const dir = await dataFolder(t);
  const first = await opened(t, dir);
  const note = newNote('here');
  const { readId } = await post(first, name, note);
  const changes: ReadId[] = [];
  first.onChange(({ readIds }) => changes.push(...readIds));
  const version = (await first.feed(name))?.version;
  await first.records.add(record('name', name));
  t.same(changes, [readId], 'it is told');
  const isClosed = async (storage: Storage) => {
    t.match(await storage.feed(name), { isBlocked: true });
    t.match(await storage.anyFeedByReadId(readId), { name });
    t.equal(await storage.feedByReadId(readId), undefined);
    t.equal(await storage.pageByReadId(readId, { limit: 1 }), undefined);
    t.equal(await storage.stat({ readId }, `${note.id}.md` as never), undefined);
    t.ok(await reads(storage).note(name, note.id), 'by its name it is read');
    await t.rejects(post(storage, name, newNote('more')), { code: 'blocked' });
  };
  await isClosed(first);
  t.not((await first.feed(name))?.version, version);
  await first.close();
  const second = await opened(t, dir);
  await isClosed(second);
  await edits(second).deleteFeed(name);
  await t.rejects(post(second, name, newNote('again')), { code: 'blocked' }, 'nor is it made again');
  await second.records.remove('name', name);
  t.match(await post(second, name, newNote('again')), { isBlocked: false });
});

t.test('nothing comes into a feed once it is closed', async (t) => {
  const storage = await opened(t, await dataFolder(t));
  const posts = Array.from({ length: 50 }, (_, n) => post(storage, name, newNote(`${n}`)));
  await posts[0];
  await storage.records.add(record('name', name));
  const count = (await storage.feed(name))?.noteCount;
  await Promise.allSettled(posts);
  t.equal((await storage.feed(name))?.noteCount, count);
});

t.test('what people write into the files by hand counts', async (t) => {
  const dir = await dataFolder(t);
  const picture = sha256('picture');
  const [hex, key] = [picture.copy().digest('hex'), picture.digest('base64url')];
  await writeFile(join(dir, '.blocklist'), `# pictures\n\n${hex}`);
  await writeFile(join(dir, '.tombstones'), 'removed-link\r\nno link!\n');
  const log = keptLog();
  const storage = await opened(t, dir, { log });
  t.same(await keysOf(storage, 'picture'), [key]);
  t.same(await keysOf(storage, 'link'), ['removed-link']);
  t.equal(log.lines.filter((line) => line.includes('cannot be read')).length, 1);

  await writeFile(join(dir, '.blocked'), `${name}\tsome day\tas he wrote\n`);
  t.ok(await eventually(async () => (await keysOf(storage, 'name')).length === 1));
  t.same(await storage.records.find('name', [name]), [record('name', name, 'as he wrote', 0)]);
  await t.rejects(post(storage, name, newNote('x')), { code: 'blocked' });
  await unlink(join(dir, '.blocked'));
  t.ok(await eventually(async () => (await keysOf(storage, 'name')).length === 0));
  t.match(await post(storage, name, newNote('x')), { isBlocked: false });

  const more = record('picture', sha256('more').digest('base64url'));
  await storage.records.add(more);
  await storage.records.remove('picture', key);
  t.match(await readFile(join(dir, '.blocklist'), 'utf8'), /^# pictures\n\n[0-9a-f]{64}\t1970-/);
  await storage.records.remove('link', 'removed-link');
  t.equal(await readFile(join(dir, '.tombstones'), 'utf8'), 'no link!\n', 'what cannot be read stays');
});

t.test('a report that was half written is none, and the next one is whole', async (t) => {
  const dir = await dataFolder(t);
  const first = await opened(t, dir);
  const [one, other] = ALL.filter(({ kind }) => kind === 'report');
  await first.records.add(one!);
  await first.close();
  await appendFile(join(dir, '.reports'), '{"id":"torn","at":"20');
  const second = await opened(t, dir);
  await second.records.add(other!);
  await second.close();
  t.same(await keysOf(await opened(t, dir), 'report'), ['0001', '0002']);
});

t.test('records are listed in the order of their keys', async (t) => {
  const { records } = await opened(t, await dataFolder(t));
  for (const key of ['c', 'a', 'B', 'd']) await records.add(record('report', key, '{}'));
  const page = async (after: string, limit: number) =>
    (await records.list('report', { after, limit })).map(({ key }) => key);
  t.same(await page('', 2), ['B', 'a']);
  t.same(await page('a', 2), ['c', 'd']);
  t.same(await page('d', 2), []);
});
