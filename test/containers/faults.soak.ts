/** Three containers on one PostgreSQL, and what breaks between them: nothing acknowledged is lost, nothing old is shown. */
import t, { type Test } from 'tap';
import { askAll, lastStale, listenersOf, startContainers } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, type Reply } from '../support/service.ts';
import type { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const SECOND = 1_000;

const server = await PostgresServer.start(t);
const database = await server.database();
/** An hour before what it was, 3 s after the start. */
const clockThatGoesBack = new URL('../support/clock-that-goes-back.mjs', import.meta.url).href;
const services = await startContainers(t, database, [{}, {}, { flags: ['--import', clockThatGoesBack] }]);
const [one, two, three] = services as [ServiceProcess, ServiceProcess, ServiceProcess];

/** A feed with one note, and the path of its list. */
async function feedOf(name: string) {
  const posted = (await new FeedClient(one.url, name).post('first')).json;
  return { name, path: `/api/v1/read/${readIdIn(posted.read_url)}/notes` };
}

type Feed = Awaited<ReturnType<typeof feedOf>>;

/** Posts through a container: all show it, at once to whoever asks a second later, with the old tag too. */
async function postShows(t: Test, { name, path }: Feed, through: ServiceProcess, text: string) {
  const tags = (await askAll(services, path)).map(({ headers }) => headers.get('etag')!);
  t.equal((await new FeedClient(through.url, name).post(text)).status, 201);
  const shows = ({ json }: Reply) => json.notes.some(({ content }: { content: string }) => content === text);
  const isStale = (reply: Reply) => reply.status === 304 || (reply.status === 200 && !shows(reply));
  const stale = await lastStale(async () => {
    const replies = await Promise.all(tags.map((tag) => askAll(services, path, { 'if-none-match': tag })));
    if (replies.flat().some(isStale)) return 'stale';
    return replies.flat().every(({ status }) => status === 200) ? 'fresh' : 'neither';
  });
  t.ok(stale < SECOND, `${text}: the last answer without it was asked for after ${Math.round(stale)} ms`);
}

/** Whether all containers keep what they answer, as they do when they hear of changes. */
function allHear(): Promise<boolean> {
  return eventually(async () => (await listenersOf(server, database)).length === services.length);
}

/** Posts through all containers, one note after the other through each, until it is stopped or the container is gone. */
function postThroughAll({ name }: Feed) {
  const acknowledged: string[] = [];
  const statuses = new Set<number>();
  let isOver = false;
  const posting = services.map(async (service, i) => {
    for (let n = 0; !isOver && service.isRunning; n += 1) {
      const text = `note ${i}.${n}`;
      const reply = await new FeedClient(service.url, name).post(text).catch(() => undefined);
      if (reply) statuses.add(reply.status);
      if (reply?.status === 201) acknowledged.push(text);
    }
  });
  const stop = async () => {
    isOver = true;
    await Promise.all(posting);
  };
  return { acknowledged, statuses, stop };
}

/** Which of the texts are not there. */
async function lostOf({ path }: Feed, texts: readonly string[]): Promise<string[]> {
  const stored = new Set<string>();
  for (let query: string | undefined = ''; query !== undefined; ) {
    const { notes, next }: { notes: { content: string }[]; next: string | null } = (
      await ask(`${two.url}${path}?limit=100${query}`)
    ).json;
    for (const { content } of notes) stored.add(content);
    query = next === null ? undefined : `&before=${encodeURIComponent(next)}`;
  }
  return texts.filter((text) => !stored.has(text));
}

t.test('connections that hear of changes are cut: nothing old is shown, and they come back', async (t) => {
  const feed = await feedOf('dunlin');
  for (const round of [1, 2]) {
    t.ok(await allHear());
    const before = await listenersOf(server, database);
    for (const pid of before) process.kill(pid, 'SIGTERM');
    await postShows(t, feed, one, `while cut ${round}`);
    t.ok(await allHear());
    t.notOk((await listenersOf(server, database)).some((pid) => before.includes(pid)));
    await postShows(t, feed, two, `afterwards ${round}`);
  }
});

t.test('connections that hear of changes hang: nothing old is shown', async (t) => {
  const feed = await feedOf('knot');
  t.ok(await allHear());
  const hanging = await listenersOf(server, database);
  for (const pid of hanging) process.kill(pid, 'SIGSTOP');
  try {
    await postShows(t, feed, one, 'while they hang');
    await postShows(t, feed, three, 'while they still hang');
  } finally {
    for (const pid of hanging) process.kill(pid, 'SIGCONT');
  }
  t.ok(await allHear());
  await postShows(t, feed, two, 'afterwards');
});

t.test('PostgreSQL crashes in the middle of posts through all containers', async (t) => {
  const feed = await feedOf('godwit');
  const { acknowledged, statuses, stop } = postThroughAll(feed);
  t.ok(await eventually(() => acknowledged.length > 20));
  await server.stop('SIGQUIT');
  const isReady = async () => (await askAll(services, '/health/ready')).map(({ status }) => status);
  t.ok(await eventually(async () => (await isReady()).every((status) => status === 503)));
  const kept = await lastStale(async () =>
    (await askAll(services, feed.path)).every(({ status }) => status === 503) ? 'fresh' : 'stale',
  );
  t.ok(kept < 2 * SECOND, 'what was kept is not shown for long');
  await server.start();
  t.ok(await eventually(async () => (await isReady()).every((status) => status === 200)));
  const before = acknowledged.length;
  t.ok(await eventually(() => acknowledged.length > before + 20));
  await stop();
  t.same(statuses, new Set([201, 503]));
  t.same(await lostOf(feed, acknowledged), []);
  t.ok(await allHear());
  await postShows(t, feed, one, 'afterwards');
});

t.test('the clock of a container that went back hides nothing', async (t) => {
  const feed = await feedOf('curlew');
  const posted = async () => (await new FeedClient(three.url, feed.name).post()).json.id.slice(0, 15);
  const anHourAgo = new Date(Date.now() - 3_000 * SECOND).toISOString().replace(/[-:]/g, '');
  t.ok(await eventually(async () => (await posted()) < anHourAgo), 'it went back');
  for (const [i, service] of [one, three, two, three, one].entries()) {
    await postShows(t, feed, service, `note ${i}`);
  }
});

t.test('a container is killed in the middle of posts through all', async (t) => {
  const feed = await feedOf('avocet');
  const { acknowledged, statuses, stop } = postThroughAll(feed);
  t.ok(await eventually(() => acknowledged.length > 30));
  await three.kill('SIGKILL');
  const before = acknowledged.length;
  t.ok(await eventually(() => acknowledged.length > before + 20), 'the others go on');
  await stop();
  t.same(statuses, new Set([201]));
  t.same(await lostOf(feed, acknowledged), []);
  services.splice(2, 1, ...(await startContainers(t, database, [{}])));
  t.ok(await allHear());
  await postShows(t, feed, services[2]!, 'through the one that took its place');
});
