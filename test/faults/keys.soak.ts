/** Posts with keys, on every storage: many at once, and retried through kill -9. None is there twice, none is lost. */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { containerSettings } from '../support/containers.ts';
import { FeedClient } from '../support/feed-client.ts';
import { PostgresServer } from '../support/postgres.ts';
import type { Reply } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';

/** With `KEY_KILLS=100` the long run: 10,000 posts for each storage. */
const KILLS = Number(process.env.KEY_KILLS ?? 6);
const POSTS = KILLS * 100;
const CLIENTS = 16;
const AT_ONCE = 64;
/** Between the start of a process and its end, ms. */
const LIFE_MS = 700;

t.setTimeout(KILLS * 40_000 + 60_000);

/** Where the services of a storage keep their notes: three on PostgreSQL, one elsewhere. */
async function settingsOf(t: Test, storage: string) {
  const dir = await dataDir(t);
  const env =
    storage === 'postgres'
      ? containerSettings(await (await PostgresServer.start(t)).database())
      : { SERVICE_STORAGE: storage, SERVICE_SECRET: 'a secret that is long enough for it' };
  return { count: storage === 'postgres' ? 3 : 1, start: () => ServiceProcess.start(t, { dir, env }) };
}

/** Repeats a post until the answer is 201. */
async function insist(feed: () => FeedClient, body: string, key: string): Promise<Reply> {
  for (;;) {
    const reply = await feed()
      .post(body, { 'idempotency-key': key, 'x-note-tags': 'keyed' })
      .catch(() => undefined);
    if (reply?.status === 201) return reply;
    if (reply && reply.status < 500) throw new Error(`${reply.status} ${reply.text}`);
    await delay(20);
  }
}

/** The ids of all notes by their key. */
async function idsByKey(feed: FeedClient): Promise<Map<string, string[]>> {
  const ids = new Map<string, string[]>();
  for (let query: string | undefined = '?limit=100'; query !== undefined; ) {
    const { notes, next }: { notes: { id: string; key: string }[]; next: string | null } = (
      await feed.list(query)
    ).json;
    for (const { id, key } of notes) ids.set(key, [...(ids.get(key) ?? []), id]);
    query = next === null ? undefined : `?limit=100&before=${encodeURIComponent(next)}`;
  }
  return ids;
}

for (const storage of ['fs', 'sqlite', 'postgres'])
  t.test(`on ${storage}`, async (t) => {
    const { count, start } = await settingsOf(t, storage);
    const services = await Promise.all(Array.from({ length: count }, start));
    const any = () => services[randomInt(count)]!;

    await t.test('many clients post one key at once', async (t) => {
      for (let round = 0; round < 5; round += 1) {
        // The first makes the feed.
        const key = `round ${round}`;
        const posts = Array.from({ length: AT_ONCE }, (_, n) =>
          insist(() => new FeedClient(services[n % count]!.url, 'at-once'), key, key),
        );
        const replies = await Promise.all(posts);
        t.equal(new Set(replies.map(({ json }) => json.id)).size, 1, 'one note');
        const firsts = replies.filter(({ headers }) => headers.get('idempotent-replayed') === null);
        t.equal(firsts.length, 1, 'one of them stored it');
      }
      const ids = await idsByKey(new FeedClient(any().url, 'at-once'));
      t.same(
        [...ids.values()].map(({ length }) => length),
        [1, 1, 1, 1, 1],
      );
    });

    await t.test('processes are killed while clients post', async (t) => {
      const feed = () => new FeedClient(any().url, 'killed');
      const answered = new Map<string, string>();
      let next = 0;
      const posting = Promise.all(
        Array.from({ length: CLIENTS }, async () => {
          for (let n = next++; n < POSTS; n = next++) {
            const reply = await insist(feed, `text ${n}`, `key ${n}`);
            answered.set(`key ${n}`, reply.json.id);
            // So that they last as long as the kills.
            if (n % (POSTS / KILLS) === 0) await delay(LIFE_MS / 2);
          }
        }),
      );
      let kills = 0;
      const killing = (async () => {
        for (; kills < KILLS; kills += 1) {
          await delay(randomInt(LIFE_MS));
          const victim = randomInt(count);
          await services[victim]!.kill('SIGKILL');
          services[victim] = await start();
        }
      })();
      await Promise.all([posting, killing]);
      const ids = await idsByKey(feed());
      const doubled = [...ids].filter(([, found]) => found.length > 1);
      const lost = [...answered].filter(([key, id]) => ids.get(key)?.[0] !== id);
      t.same([doubled, lost, ids.size], [[], [], POSTS]);
      const again = await insist(feed, 'text 7', 'key 7');
      t.equal(again.json.id, answered.get('key 7'));
      t.equal(again.headers.get('idempotent-replayed'), 'true');
      t.comment(`${kills} kills, ${answered.size} posts`);
    });
    for (const service of services) await service.kill('SIGTERM');
  });
