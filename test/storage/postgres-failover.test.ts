/** A primary that ends, hangs or comes back, with a standby that takes its place, or is away itself. */
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { containerSettings } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { readIdIn } from '../support/feed-client.ts';
import { Posters, textsOf } from '../support/posters.ts';
import { PostgresPair } from '../support/postgres-pair.ts';
import { ask, post } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const FEED = 'dunlin';

function serviceOn(t: Test, { url }: PostgresPair): Promise<ServiceProcess> {
  return ServiceProcess.start(t, { env: containerSettings(url) });
}

/** Every acknowledged note is there once, and nothing else was refused than what may be stored. */
async function nothingIsLost(t: Test, url: string, { acknowledged, refusals }: Posters): Promise<void> {
  const stored = await textsOf(url, FEED);
  const texts = new Set(stored);
  t.equal(texts.size, stored.length);
  t.same(
    acknowledged.filter((text) => !texts.has(text)),
    [],
    `of ${acknowledged.length}`,
  );
  t.same(
    [...refusals].filter((refusal) => refusal !== '503 store_unavailable'),
    [],
  );
}

function takesPosts(url: string): Promise<boolean> {
  return eventually(async () => (await post(`${url}/${FEED}`, 'once more')).status === 201);
}

t.test(
  'a primary is killed under load: nothing acknowledged is lost, and posts go on by themselves',
  async (t) => {
    const pair = await PostgresPair.start(t);
    const service = await serviceOn(t, pair);
    const { url } = service;
    const posters = new Posters(`${url}/${FEED}`);
    t.ok(await posters.more(50));
    await pair.primary.stop('SIGKILL');
    await pair.promote();
    t.ok(await posters.more(50));
    await posters.stop();
    await nothingIsLost(t, url, posters);
    await post(`${url}/${FEED}`, 'oystercatcher');
    const search = `${url}/api/v1/feeds/${FEED}/notes?q=oystercatcher`;
    t.ok(await eventually(async () => (await ask(search)).json.notes?.length === 1));

    await service.says('another database server was promoted: it is used from now on, and no older one');

    // It comes back as if nothing had happened, and takes writes without any standby.
    await pair.standby.configure({ synchronous_standby_names: '' });
    await pair.standby.start();
    const before = await pair.notesOn(pair.standby);
    const later = await serviceOn(t, pair);
    for (const one of [url, later.url]) t.equal((await post(`${one}/${FEED}`, 'two of them')).status, 201);
    await pair.primary.stop('SIGKILL');
    for (const one of [url, later.url]) {
      t.equal((await post(`${one}/${FEED}`, 'refused')).status, 503);
      t.equal((await ask(`${one}/health/ready`)).status, 503);
    }
    await pair.primary.start();
    for (const one of [url, later.url]) t.ok(await takesPosts(one));
    t.equal(await pair.notesOn(pair.standby), before);
  },
);

t.test('a primary hangs, and goes on when another one has taken its place', async (t) => {
  const pair = await PostgresPair.start(t);
  const { url } = await serviceOn(t, pair);
  const feedXml = `${url}/r/${readIdIn((await post(`${url}/quiet`, 'first')).json.read_url)}/feed.xml`;
  const isCached = async () => {
    await ask(feedXml);
    const thaw = await pair.primary.freeze(t);
    const { status } = await ask(feedXml);
    thaw();
    return status === 200;
  };
  t.ok(await eventually(isCached), 'what is cached is answered for a moment without the database');

  const posters = new Posters(`${url}/${FEED}`);
  t.ok(await posters.more(50));
  const thaw = await pair.primary.freeze(t);
  await pair.promote();
  t.ok(await posters.more(50));
  thaw();
  t.ok(await posters.more(50));
  await posters.stop();
  await nothingIsLost(t, url, posters);
  // A commit that it had begun waits for the standby for ever.
  const left = `SELECT FROM pg_stat_activity
    WHERE starts_with(application_name, 'note-feed') AND wait_event IS DISTINCT FROM 'SyncRep'`;
  t.ok(await eventually(async () => (await pair.standby.sql('postgres', left)).length === 0));
  t.ok(await takesPosts(url));
});

t.test('a primary that others have left behind is left, also by connections that work', async (t) => {
  const pair = await PostgresPair.start(t);
  const { url } = await serviceOn(t, pair);
  await pair.primary.sql('postgres', `ALTER SYSTEM SET synchronous_standby_names = ''`);
  await pair.primary.sql('postgres', 'SELECT pg_reload_conf()');
  const posters = new Posters(`${url}/${FEED}`);
  t.ok(await posters.more(50));
  await pair.promote();
  const atFirst = await pair.notesOn(pair.primary);
  t.ok(await eventually(async () => (await pair.notesOn(pair.primary)) > atFirst));
  const before = await pair.notesOn(pair.standby);
  t.ok(await posters.more(50));
  await posters.stop();
  t.equal(await pair.notesOn(pair.standby), before);
});

t.test('a commit that the standby lacks is not acknowledged, whoever ends the wait for it', async (t) => {
  const pair = await PostgresPair.start(t);
  const { url } = await serviceOn(t, pair);
  t.ok(await takesPosts(url));
  await pair.standby.stop();
  const posting = post(`${url}/${FEED}`, 'unknown');
  const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  t.ok(await eventually(async () => (await pair.primary.sql('postgres', cancel)).length > 0));
  t.match(await posting, { status: 503, json: { code: 'store_unavailable' } });
  await pair.standby.start();
  t.ok(await takesPosts(url));
});

t.test(
  'a commit that waited for the standby for more than a minute shows in the container that began it',
  async (t) => {
    const pair = await PostgresPair.start(t);
    const { url } = await serviceOn(t, pair);
    const readId = readIdIn((await post(`${url}/${FEED}`, 'first')).json.read_url);
    const shown = async () => (await ask(`${url}/api/v1/read/${readId}/notes`)).json.notes.length;
    await pair.standby.stop();
    t.match(await post(`${url}/${FEED}`, 'late'), { status: 503, json: { code: 'store_unavailable' } });
    await wait(65_000);
    t.equal(await shown(), 1, 'this is cached now');
    await pair.standby.start();
    t.ok(await eventually(async () => (await pair.notesOn(pair.primary)) === 2));
    await wait(1_000);
    t.equal(await shown(), 2);
  },
);
