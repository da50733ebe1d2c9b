/**
 * A container answers a request, and one of its connections, to the database or to the S3 store, is cut: in the first run at the first
 * message that the container sends, in the second run at the second message, and so on. Each time the request must be done completely
 * or not at all, another container must show the same, and the same request sent again must succeed. `CUT_ENDINGS=all` tries every kind of cut.
 */
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { imageSettings } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { field, file } from '../support/multipart.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { picture } from '../support/pictures.ts';
import { type Ending, PieceProxy } from '../support/piece-proxy.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, type Reply, start } from '../support/service.ts';
import { SwiftServer } from '../support/swift.ts';
import { zipOf } from '../support/zips.ts';

t.setTimeout(7_200_000);

const ENDINGS: readonly Ending[] =
  process.env.CUT_ENDINGS === 'all'
    ? ['lost', 'all lost', 'half', 'unanswered', 'half answered']
    : ['half', 'unanswered'];
/** The most pieces of one request, with those that the service sends meanwhile for itself. */
const MAX_PIECES = 60;
const PASSWORD = { 'x-feed-password': 'the password' };

/** A feed of its own for each run. */
interface Feed {
  readonly name: string;
  readonly readId: string;
  /** Ids of its two notes, a text and a picture; empty if the feed does not exist yet. */
  readonly ids: readonly string[];
}

/** The addresses of two containers. The one that is cut reaches the database or the store through a proxy. */
interface Containers {
  readonly cut: string;
  readonly other: string;
  readonly proxy: PieceProxy;
}

const server = await PostgresServer.start(t);

async function startContainers(t: Test, hasStore: boolean): Promise<Containers> {
  const database = await server.database();
  const swift = hasStore ? await SwiftServer.start(t) : undefined;
  const place = swift && { ...(await swift.bucket()), kind: 's3' as const };
  const proxy = await PieceProxy.start(t, place ? Number(new URL(place.endpoint).port) : server.port);
  const env = {
    SERVICE_STORAGE: 'postgres',
    SERVICE_SECRET: 'a secret of tests that is long enough',
    SERVICE_DATABASE_URL: database,
    SERVICE_MAX_FEEDS: '100000',
    SERVICE_MAX_BYTES: String(2 ** 40),
    PUBLIC_URL: 'http://notes.example',
    ...WITH_OPERATOR,
    ...imageSettings(place),
  };
  const other = await start(t, env);
  const through = (address: string) => Object.assign(new URL(address), { port: String(proxy.port) }).href;
  const cut = await start(t, {
    ...env,
    ...(place
      ? { SERVICE_S3_ENDPOINT: through(place.endpoint) }
      : { SERVICE_DATABASE_URL: through(database) }),
  });
  return { cut: cut.url, other: other.url, proxy };
}

const clientAt = (url: string, { name }: Feed) => new FeedClient(url, name, PASSWORD);

/** What all kinds of clients see of a feed. Names, ids and times are replaced, so that feeds can be compared. Undefined if the service answers 503. */
async function view(url: string, feed: Feed): Promise<readonly string[] | undefined> {
  const client = clientAt(url, feed);
  const read = `${url}/api/v1/read/${feed.readId}`;
  const page = `${url}/r/${feed.readId}`;
  const replies = await Promise.all([
    client.get(),
    client.list(),
    client.get('/tags'),
    new FeedClient(url, feed.name).get(),
    ask(`${read}/notes`),
    ask(`${read}/tags`),
    ask(`${page}/feed.xml`),
    operate(url, 'GET', '/blocks').then((reply) => ({
      ...reply,
      text: String(reply.text.includes(feed.name)),
    })),
    ...feed.ids.flatMap((id, n) => [
      client.get(`/notes/${id}`),
      ask(`${page}/${id}.${n === 0 ? 'md' : 'png'}`),
    ]),
  ]);
  if (replies.some(({ status }) => status === 503)) return undefined;
  const ids = new Map<string, number>();
  const numberOf = (id: string) => {
    ids.set(id, ids.get(id) ?? ids.size);
    return `ID${ids.get(id)}`;
  };
  return replies.map(({ status, text }) =>
    `${status} ${text}`
      .replaceAll(feed.name, 'NAME')
      .replace(/\d{8}T\d{6}Z-[\da-f-]{36}/g, numberOf)
      .replace(/urn:uuid:[\da-f-]+/g, 'UUID')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT/g, 'TIME'),
  );
}

/** The first view that the service can give. */
async function seen(url: string, feed: Feed): Promise<readonly string[] | undefined> {
  let found: readonly string[] | undefined;
  await eventually(async () => {
    found = await view(url, feed);
    return found !== undefined;
  });
  return found;
}

async function made(url: string, name: string): Promise<Feed> {
  const feed = { name, readId: `read-${name}`, ids: [] };
  const client = clientAt(url, feed);
  const headers = { 'x-read-id': feed.readId, 'idempotency-key': 'first', 'x-note-tags': 'first, all' };
  const { json: text } = await client.post('the first text', headers);
  const { json: image } = await client.post(picture('png', 3_000), {
    'content-type': 'image/png',
    'x-note-tags': 'all',
  });
  return { ...feed, ids: [text.id, image.id] };
}

interface Work {
  readonly send: (url: string, feed: Feed, client: FeedClient) => Promise<Reply>;
  /** The feed is not there before. */
  readonly isFirst?: boolean;
  /** A second request of this kind adds a second note. */
  readonly isAdding?: boolean;
  /** It consists of steps; a failure may come between two of them. */
  readonly isInSteps?: boolean;
  /** It needs the store of the pictures. */
  readonly isOfPictures?: boolean;
}

const PNG = { 'content-type': 'image/png' };
const KEYED = { 'idempotency-key': 'second' };
const IMPORTED = zipOf([
  { name: '.feed.json', bytes: '{"title":"imported"}' },
  { name: '20260101T000000Z-019b76da-a800-7000-8000-000000000000.md', bytes: 'an imported text' },
  { name: '20260101T000001Z-019b76da-abe8-7000-8000-000000000000.png', bytes: picture('png', 2_000, 9) },
]);
const FORM = [
  field('text', 'a text of a form'),
  ...[1, 2].map((n) => file('file', `${n}.png`, 'image/png', picture('png', 500, n))),
];

const WORK: Record<string, Work> = {
  'the first post': {
    isFirst: true,
    send: (_url, { readId }, client) => client.post('x', { ...KEYED, 'x-read-id': readId }),
  },
  'a post with a key': {
    send: (_url, _feed, client) => client.post('x', { ...KEYED, 'x-note-tags': 'new' }),
  },
  'a post': { isAdding: true, send: (_url, _feed, client) => client.post('x') },
  'a form': { isOfPictures: true, send: (_url, _feed, client) => client.postForm(FORM, KEYED) },
  'the first form': {
    isFirst: true,
    isOfPictures: true,
    send: (_url, { readId }, client) => client.postForm(FORM, { ...KEYED, 'x-read-id': readId }),
  },
  'a picture': {
    isOfPictures: true,
    send: (_url, _feed, client) => client.post(picture('png', 70_000, 3), { ...KEYED, ...PNG }),
  },
  'new bytes': {
    send: (_url, { ids }, client) =>
      client.with({ 'content-type': 'text/markdown' }).put(`/notes/${ids[0]}`, 'new'),
  },
  'a new form': {
    isOfPictures: true,
    isAdding: true,
    send: (_url, { ids }, client) => client.putForm(ids[0]!, FORM),
  },
  'another picture': {
    isOfPictures: true,
    send: (_url, { ids }, client) => client.with(PNG).put(`/notes/${ids[1]}`, picture('png', 900, 4)),
  },
  'new metadata': {
    send: (_url, { ids }, client) =>
      client.send('PATCH', `/notes/${ids[0]}`, '{"title":"new","tags":["new"]}'),
  },
  'a removal': { send: (_url, { ids }, client) => client.send('DELETE', `/notes/${ids[0]}`) },
  'the removal of a picture': {
    isOfPictures: true,
    send: (_url, { ids }, client) => client.send('DELETE', `/notes/${ids[1]}`),
  },
  settings: { send: (_url, _feed, client) => client.set({ title: 'new', description: 'new' }) },
  'another read id': { send: (_url, { readId }, client) => client.set({ read_id: `${readId}-new` }) },
  'another password': {
    send: (_url, _feed, client) => client.send('PUT', '/password', '{"password":"another password"}'),
  },
  'no password': { send: (_url, _feed, client) => client.send('DELETE', '/password') },
  'a deletion': { isOfPictures: true, send: (_url, _feed, client) => client.delete() },
  'an import': {
    isInSteps: true,
    isOfPictures: true,
    send: (_url, _feed, { record }) =>
      ask(`${record}/import`, {
        method: 'POST',
        headers: { 'content-type': 'application/zip', ...PASSWORD },
        body: IMPORTED,
      }),
  },
  'a closed name': { send: (url, { name }) => operate(url, 'PUT', `/blocks/${name}`) },
  'the end of a feed by the operator': { send: (url, { name }) => operate(url, 'DELETE', `/feeds/${name}`) },
  'a feed that is taken down': {
    isInSteps: true,
    isOfPictures: true,
    send: (url, { readId }) => operate(url, 'POST', '/takedown', { read_id: readId, block: true }),
  },
  'a picture that is taken down': {
    isInSteps: true,
    isOfPictures: true,
    send: (url, { readId, ids }) =>
      operate(url, 'POST', '/takedown', { read_id: readId, file: `${ids[1]}.png` }),
  },
  'a picture is read': {
    isOfPictures: true,
    send: (url, { readId, ids }) => ask(`${url}/r/${readId}/${ids[1]}.png`),
  },
  'a list': { send: (_url, { name }, client) => client.list(`?tag=all&limit=${name.length}`) },
};

for (const target of ['database', 'store'])
  t.test(`the connections to the ${target}`, { skip: target === 'store' && missing('swift') }, async (t) => {
    const isStore = target === 'store';
    const { cut, other, proxy } = await startContainers(t, isStore);
    let feeds = 0;
    const feedFor = async ({ isFirst = false }: Work): Promise<Feed> => {
      feeds += 1;
      const name = `cut-${String(feeds).padStart(6, '0')}`;
      return isFirst ? { name, readId: `read-${name}`, ids: [] } : made(other, name);
    };
    for (const [title, work] of Object.entries(WORK)) {
      if (isStore && !work.isOfPictures) continue;
      await t.test(title, async (t) => {
        const send = (feed: Feed) => work.send(cut, feed, clientAt(cut, feed));
        const calm = await feedFor(work);
        const expected = await send(calm);
        t.ok(expected.status < 300, `${expected.status} ${expected.text.slice(0, 200)}`);
        const after = await seen(cut, calm);
        let [runs, refused] = [0, 0];
        for (const ending of ENDINGS)
          for (let nth = 1; nth <= MAX_PIECES; nth += 1) {
            const feed = await feedFor(work);
            const before = await seen(other, feed);
            await eventually(async () => isDeepStrictEqual(await seen(cut, feed), before));
            proxy.endAt(nth, ending);
            const reply = await send(feed);
            const hasEnded = proxy.disarm();
            const where = `${ending} at piece ${nth}: ${reply.status} ${reply.text.slice(0, 200)}`;
            let [shown, elsewhere] = [await seen(cut, feed), await seen(other, feed)];
            if (reply.status === expected.status) t.same(shown, after, `done, ${where}`);
            else {
              refused += 1;
              t.equal(reply.json?.code, 'store_unavailable', where);
            }
            // After a 503 the container shows a commit as late as one of another container.
            const isSettled = await eventually(async () => {
              [shown, elsewhere] = [await seen(cut, feed), await seen(other, feed)];
              const isWhole = [before, after].some((one) => isDeepStrictEqual(shown, one));
              return isDeepStrictEqual(shown, elsewhere) && (isWhole || work.isInSteps === true);
            });
            if (!isSettled) {
              t.same(shown, before, `neither done nor not, ${where}`);
              t.same(elsewhere, shown, `in the other, ${where}`);
            }
            if (!work.isAdding) {
              let again = reply;
              await eventually(async () => {
                again = await send(feed);
                return again.status !== 503;
              });
              t.ok(again.status < 500, `again: ${again.status} ${again.text.slice(0, 200)}`);
              t.same(await seen(cut, feed), after, `again, ${where}`);
            }
            runs += 1;
            if (!hasEnded) break;
          }
        t.comment(`${runs} runs, ${refused} refused`);
      });
    }
  });
