/** Event streams with `?notes=1`, and streams of lines, tell the notes of a feed. */
import t, { type Test } from 'tap';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { NoteStream } from '../support/note-stream.ts';
import { ask, start } from '../support/service.ts';

t.setTimeout(600_000);

const LINES = { accept: 'application/x-ndjson' };
const service = await start(t, { SERVICE_TRUST_PROXY: '1' });
const { url } = service;

let names = 0;
function newFeed(headers: Record<string, string> = {}): FeedClient {
  names += 1;
  return new FeedClient(url, `dabchick-${names}`, headers);
}

/** A feed with a note, its streams, and the id of the note. */
async function posted(headers: Record<string, string> = {}) {
  const feed = newFeed(headers);
  const { json } = await feed.post('# First');
  const readId = readIdIn(json.read_url);
  return {
    feed,
    readId,
    id: json.id as string,
    byName: `${feed.record}/events`,
    byReadId: `${url}/r/${readId}/events`,
  };
}

async function postedIds(feed: FeedClient, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await feed.post(`Note ${n}`)).json.id);
  return ids;
}

/** A stream of each side and format. */
async function allOf(t: Test, { byName, byReadId }: { byName: string; byReadId: string }, query = '') {
  const streams: NoteStream[] = [];
  for (const at of [byName, byReadId]) {
    streams.push(await NoteStream.open(t, `${at}?notes=1${query}`));
    streams.push(await NoteStream.open(t, `${at}?${query}`, LINES));
  }
  return streams;
}

t.test('each note is told once and in order, as that side shows it', async (t) => {
  const { feed, readId, byName, byReadId } = await posted();
  const streams = await allOf(t, { byName, byReadId });
  const ids = await postedIds(feed, 20);
  const { json } = await feed.post('# Title', { 'x-note-tags': 'a, b', 'idempotency-key': 'one' });
  ids.push(json.id);
  for (const stream of streams) {
    t.ok(await stream.hears(ids.length));
    t.same(stream.ids(), ids);
    t.equal(stream.lastId, ids.at(-1));
    t.same(stream.ids('reset'), []);
  }
  const [named, namedLines, open, openLines] = streams.map(({ events }) => events.at(-1)!.note);
  t.same(named, (await feed.get(`/notes/${json.id}`)).json);
  t.same(open, (await ask(`${url}/api/v1/read/${readId}/notes/${json.id}`)).json);
  t.match(named, { key: 'one', tags: ['a', 'b'], title: 'Title' });
  t.notOk('key' in open);
  t.same(namedLines, named);
  t.same(openLines, open);
});

t.test('the headers of lines', async (t) => {
  const { byName, byReadId } = await posted();
  for (const [at, cache, cors] of [
    [byReadId, 'no-store', '*'],
    [byName, 'private, no-store', undefined],
  ] as const) {
    const { response } = await NoteStream.open(t, at, LINES);
    t.equal(response.statusCode, 200);
    t.match(response.headers, { 'content-type': 'application/x-ndjson', 'cache-control': cache });
    t.equal(response.headers['access-control-allow-origin'], cors);
  }
});

t.test('edits and removals of all kinds', async (t) => {
  const { feed, id, ...at } = await posted();
  const streams = await allOf(t, at);
  const steps: (() => Promise<{ json: { id: string } | undefined }>)[] = [
    () => feed.send('PATCH', `/notes/${id}`, '{"title":"Other"}'),
    () => feed.put(`/notes/${id}`, '# New text'),
    () => feed.put('/notes?key=k', 'by key'),
    () => feed.put('/notes?key=k', 'by key, again'),
    () => feed.send('DELETE', `/notes/${id}`),
  ];
  let keyed: string | undefined;
  for (const [n, step] of steps.entries()) {
    keyed = (await step()).json?.id ?? keyed;
    for (const stream of streams) t.ok(await stream.hears(n + 1));
  }
  const told = [
    ['edited', id],
    ['edited', id],
    ['note', keyed],
    ['edited', keyed],
    ['gone', id],
  ];
  for (const { events, lastId } of streams) {
    t.same(
      events.map(({ event, id }) => [event, id]),
      told,
    );
    t.match(events[1]!.note, { title: 'Other', content: '# New text' });
    t.equal(lastId, keyed);
  }
});

t.test('who comes again is told what came since', async (t) => {
  const { feed, id, ...at } = await posted();
  const ids = await postedIds(feed, 3);
  for (const url of [at.byName, at.byReadId]) {
    const asks = [
      await NoteStream.open(t, `${url}?notes=1&since=${id}`),
      await NoteStream.open(t, `${url}?notes=1&since=x`, { 'last-event-id': id }),
      await NoteStream.open(t, `${url}?since=${id}`, LINES),
    ];
    for (const stream of asks) {
      t.ok(await stream.hears(3));
      t.same(stream.ids(), ids);
    }
    const all = await NoteStream.open(t, `${url}?since=0`, LINES);
    t.ok(await all.hears(4));
    t.same(all.ids(), [id, ...ids]);
    const fresh = await NoteStream.open(t, `${url}?notes=1`);
    t.equal(fresh.lastId, ids.at(-1));
  }
});

t.test('who listens before the first note misses none', async (t) => {
  const feed = newFeed();
  const [stream, away] = [
    await NoteStream.open(t, `${feed.record}/events?notes=1`),
    await NoteStream.open(t, `${feed.record}/events?notes=1`),
  ];
  t.equal(away.lastId, '0');
  away.close();
  const ids = await postedIds(feed, 2);
  t.ok(await stream.hears(2));
  t.same(stream.ids(), ids);
  const again = await NoteStream.open(t, `${feed.record}/events?notes=1`, { 'last-event-id': away.lastId! });
  t.ok(await again.hears(2));
  t.same(again.ids(), ids);
});

t.test('of many missed notes the last hundred, and then to look again', async (t) => {
  const { feed, id, byName } = await posted();
  const ids = await postedIds(feed, 101);
  const stream = await NoteStream.open(t, `${byName}?since=${id}`, LINES);
  t.ok(await stream.hears(1, 'reset'));
  t.same(stream.ids(), ids.slice(1));
  t.equal(stream.events.at(-1)!.event, 'reset');
  ids.push(...(await postedIds(feed, 1)));
  t.ok(await stream.hears(102));
  t.same(stream.ids(), ids.slice(1));
  const exact = await NoteStream.open(t, `${byName}?since=${ids[1]}`, LINES);
  t.ok(await exact.hears(100));
  t.same(exact.ids(), ids.slice(2));
  await feed.post('last');
  t.ok(await exact.hears(101));
  t.same(exact.ids('reset'), []);
});

t.test('whoever has a note that is gone, or none that there was, has to look again', async (t) => {
  const { feed, byName } = await posted();
  const [gone, kept] = await postedIds(feed, 2);
  await feed.send('DELETE', `/notes/${gone}`);
  const stream = await NoteStream.open(t, `${byName}?since=${gone}`, LINES);
  t.ok(await stream.hears(2));
  t.same(
    stream.events.map(({ event, id }) => [event, id]),
    [
      ['note', kept],
      ['reset', undefined],
    ],
  );
  for (const since of ['what', 'a.b', 'x'.repeat(1_000)]) {
    const lost = await NoteStream.open(t, `${byName}?since=${since}`, LINES);
    t.ok(await lost.hears(1));
    const last = (await feed.post('next')).json.id;
    t.ok(await lost.hears(2));
    t.same(
      lost.events.map(({ event, id }) => [event, id]),
      [
        ['reset', undefined],
        ['note', last],
      ],
    );
  }
  const last = (await feed.post('last')).json.id;
  await feed.send('DELETE', `/notes/${last}`);
  const quiet = await NoteStream.open(t, `${byName}?since=${last}`, LINES);
  t.ok(await quiet.hears(1, 'reset'));
  await feed.set({ title: 'Other' });
  const next = (await feed.post('after that')).json.id;
  t.ok(await quiet.hears(1, 'note'));
  t.same(quiet.ids(), [next]);
  t.equal(quiet.ids('reset').length, 1, 'once is enough');
});

t.test('the order is the same after a restart', async (t) => {
  const first = await start(t, { SERVICE_TRUST_PROXY: '1' });
  const feed = new FeedClient(first.url, 'garganey');
  const before = await NoteStream.open(t, `${feed.record}/events`, LINES);
  await Promise.all(Array.from({ length: 60 }, (_, n) => feed.post(`${n}`)));
  t.ok(await before.hears(60));
  const second = await first.restart();
  for (const place of [0, 1, 13, 40, 59]) {
    const since = `${second.url}/api/v1/feeds/garganey/events?since=${before.ids()[place]}`;
    const after = await NoteStream.open(t, since, LINES);
    const { json } = await new FeedClient(second.url, 'garganey').post('another');
    t.ok(await after.hears(60 - place));
    t.same(after.ids().slice(0, 59 - place), before.ids().slice(place + 1));
    await new FeedClient(second.url, 'garganey').send('DELETE', `/notes/${json.id}`);
  }
});
