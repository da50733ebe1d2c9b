/** What else becomes of streams that tell notes: clients that are slow, changes by hand, imports, the ends of streams. */
import { appendFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { OPERATOR_TOKEN } from '../support/image-settings.ts';
import { NoteStream } from '../support/note-stream.ts';
import { ask, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

t.setTimeout(600_000);

const LINES = { accept: 'application/x-ndjson' };
const OF_FILES = { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' };
const service = await start(t, {
  SERVICE_TRUST_PROXY: '1',
  SERVICE_METRICS: '1',
  SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
});
const { url } = service;

let names = 0;
/** A feed with a note, and its addresses. */
async function posted(headers: Record<string, string> = {}) {
  names += 1;
  const feed = new FeedClient(url, `smew-${names}`, headers);
  const { json } = await feed.post('# First', headers);
  const readId = readIdIn(json.read_url);
  return {
    feed,
    id: json.id as string,
    byName: `${feed.record}/events`,
    byReadId: `${url}/r/${readId}/events`,
  };
}

t.test('a client that takes nothing for a while gets each note once all the same', async (t) => {
  const { feed, byName } = await posted();
  const [slow, other] = [await NoteStream.open(t, byName, LINES), await NoteStream.open(t, byName, LINES)];
  slow.response.pause();
  const text = 'long '.repeat(20_000);
  const ids: string[] = [];
  for (let n = 0; n < 200; n += 1) ids.push((await feed.post(text)).json.id);
  t.ok(await other.hears(200), 'others do not wait for it');
  t.ok(slow.events.length < 200);
  await feed.send('DELETE', `/notes/${ids[0]}`);
  t.ok(await other.hears(1, 'gone'));
  slow.response.resume();
  // The first one is gone; what became of notes while the client took nothing is told by a reset.
  t.ok(await slow.hears(1, 'reset'));
  const [first, ...rest] = ids;
  t.same(
    slow.ids().filter((id) => id !== first),
    rest,
  );
  t.same(other.ids(), ids);
  const { json } = await feed.post('last');
  t.ok(await eventually(() => slow.ids().at(-1) === json.id));
});

t.test('a password that changes, and a deletion, end the stream by name', async (t) => {
  const { feed, byName, byReadId } = await posted({ 'x-feed-password': 'one' });
  t.equal((await ask(`${byName}?notes=1`)).status, 401);
  t.equal((await ask(byName, { headers: LINES })).status, 401);
  const open = await NoteStream.open(t, `${byReadId}?notes=1`);
  const first = await NoteStream.open(t, `${byName}?notes=1`, { 'x-feed-password': 'one' });
  await feed.send('PUT', '/password', '{"password":"two"}');
  t.ok(await first.ends());
  const second = await NoteStream.open(t, byName, { ...LINES, 'x-feed-password': 'two' });
  await new FeedClient(url, feed.name, { 'x-feed-password': 'two' }).delete();
  t.ok(await second.ends());
  t.ok(await open.ends(), 'that of the public, too');
  t.same(
    open.events.map(({ event }) => event),
    ['reset'],
  );
  t.same([...first.events, ...second.events], []);
});

t.test('a stream tells no note that came after the password was changed', async (t) => {
  const [old, changed] = [{ 'x-feed-password': 'one' }, { 'x-feed-password': 'two' }];
  const { feed, byName } = await posted(old);
  const ids: string[] = [];
  for (let n = 0; n < 100; n += 1) ids.push((await feed.post(`note ${n}`)).json.id);
  // Each is at another place, so they are told one after the other.
  const opened = ids.map((id) => NoteStream.open(t, `${byName}?since=${id}`, { ...LINES, ...old }));
  const streams = await Promise.all(opened);
  t.equal((await feed.send('PUT', '/password', '{"password":"two"}')).status, 204);
  const { json } = await feed.with(changed).post('secret');
  for (const stream of streams) t.ok(await stream.ends());
  t.equal(streams.filter((stream) => stream.ids().includes(json.id)).length, 0);
});

t.test('a note that came after the read link was changed is told with the new one', async (t) => {
  const { feed, byName } = await posted();
  const ids: string[] = [];
  for (let n = 0; n < 100; n += 1) ids.push((await feed.post(`note ${n}`)).json.id);
  const opened = ids.map((id) => NoteStream.open(t, `${byName}?since=${id}`, LINES));
  const streams = await Promise.all(opened);
  // Most are told in one round, one after the other.
  t.ok(await eventually(() => streams.filter(({ events }) => events.length > 0).length > 2));
  await feed.set({ read_id: `${feed.name}-other` });
  const { json } = await feed.post('after');
  t.ok(await eventually(() => streams.every((stream) => stream.ids().includes(json.id))));
  const addresses = streams.map(({ events }) => events.find(({ id }) => id === json.id)?.note.file_url);
  t.same([...new Set(addresses)], [json.file_url]);
});

t.test('a feed that the operator closes ends the public streams', async (t) => {
  const { feed, byName, byReadId } = await posted();
  const [named, open] = [await NoteStream.open(t, byName, LINES), await NoteStream.open(t, byReadId, LINES)];
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
  await ask(`${url}/api/operator/blocks/${feed.name}`, { method: 'PUT', headers });
  t.ok(await open.ends());
  t.notOk(named.isEnded, 'its owner may read on');
  const after = await NoteStream.open(t, `${byReadId}?since=0`, LINES);
  await ask(`${url}/api/operator/blocks/${feed.name}`, { method: 'DELETE', headers });
  t.ok(await after.hears(1), 'who came meanwhile is told when it is open again');
});

t.test('a stream follows its feed to another read id', async (t) => {
  const { feed, byName, byReadId } = await posted();
  const [named, old] = [await NoteStream.open(t, byName, LINES), await NoteStream.open(t, byReadId, LINES)];
  await feed.set({ read_id: `${feed.name}-read` });
  t.ok(await old.ends());
  const { json } = await feed.post('after');
  t.ok(await named.hears(1, 'note'));
  t.same(named.ids(), [json.id]);
});

t.test('these streams are of the 20 that a client has', async (t) => {
  const { byName, byReadId } = await posted();
  const client = { 'x-forwarded-for': '192.0.2.9' };
  for (let n = 0; n < 20; n += 1)
    await NoteStream.open(
      t,
      n % 2 ? byName : `${byReadId}?notes=1`,
      n % 2 ? { ...LINES, ...client } : client,
    );
  for (const headers of [client, { ...client, ...LINES }]) {
    const refused = await ask(`${byReadId}?notes=1`, { headers });
    t.match(refused, { status: 503, json: { code: 'busy' } });
  }
});

t.test('an import says to look again', async (t) => {
  const { feed, byName } = await posted();
  const stream = await NoteStream.open(t, byName, LINES);
  const old = '20190807T060504Z-01234567-89ab-4def-8123-456789abcdef.md';
  const body = zipOf([{ name: old, bytes: 'old' }]);
  const headers = { 'content-type': 'application/zip' };
  const { json } = await ask(`${feed.record}/import`, { method: 'POST', headers, body });
  t.match(json, { imported: 1 });
  t.ok(await stream.hears(1, 'reset'));
});

t.test('changes by hand are told', OF_FILES, async (t) => {
  const folder = join(service.dir, 'by-hand');
  await mkdir(folder);
  const place = async (name: string, text: string) => {
    // A rename places it complete: the service could see a file that is being written empty, and then tell of an edit.
    await writeFile(join(service.dir, '.prepared'), text);
    await rename(join(service.dir, '.prepared'), join(folder, name));
  };
  await place('one.md', 'by hand');
  const at = `${url}/api/v1/feeds/by-hand/events`;
  const stream = await NoteStream.open(t, `${at}?since=0`, LINES);
  t.ok(await stream.hears(1, 'note'));
  await place('two.md', 'by hand, too');
  t.ok(await stream.hears(2, 'note'));
  await appendFile(join(folder, 'one.md'), ', changed');
  t.ok(await stream.hears(1, 'edited'));
  await rm(join(folder, 'two.md'));
  t.ok(await stream.hears(1, 'gone'));
  t.same(stream.ids(), ['one', 'two']);
  t.match(stream.events.at(-2), { event: 'edited', id: 'one', note: { content: 'by hand, changed' } });
  t.same(stream.ids('gone'), ['two']);
  await rm(folder, { recursive: true });
  t.ok(await stream.ends());
});

t.test('a line break in the name of a file begins no field of an event', OF_FILES, async (t) => {
  await mkdir(join(service.dir, 'broken'));
  await writeFile(join(service.dir, 'broken', 'a\nevent: forged.md'), 'x');
  const stream = await NoteStream.open(t, `${url}/api/v1/feeds/broken/events?notes=1&since=0`);
  t.ok(await stream.hears(1, 'note'));
  t.notMatch(stream.text, /^event: forged/m);
});

t.test('notes whose time is over', async (t) => {
  const { feed, id, byName } = await posted();
  const expiring = (await feed.post('soon gone')).json.id;
  const last = (await feed.post('stays')).json.id;
  const stream = await NoteStream.open(t, `${byName}?since=${id}`, LINES);
  t.ok(await stream.hears(2, 'note'));
  t.same(stream.ids(), [expiring, last]);
  // The time is set only here, because a busy machine may need long for what is above.
  const expires = new Date(Date.now() + 2_000).toISOString();
  t.match(await feed.send('PATCH', `/notes/${expiring}`, JSON.stringify({ expires })), { status: 200 });
  t.ok(await stream.hears(1, 'gone'));
  t.same(stream.ids('gone'), [expiring]);
  const again = await NoteStream.open(t, `${byName}?since=${id}`, LINES);
  t.ok(await again.hears(1, 'note'));
  t.same(again.ids(), [last]);
});

t.test('no name and no text of a feed gets into the log', async (t) => {
  const { feed, byName } = await posted();
  const stream = await NoteStream.open(t, `${byName}?since=${feed.name}`, LINES);
  t.ok(await stream.hears(1, 'reset'));
  t.notMatch(JSON.stringify(service.lines), new RegExp(feed.name));
});

t.test('a stop ends all streams at once', async (t) => {
  const { byName, byReadId } = await posted();
  const streams = [await NoteStream.open(t, byName, LINES), await NoteStream.open(t, `${byReadId}?notes=1`)];
  await service.stop();
  for (const stream of streams) t.ok(await stream.ends());
});
