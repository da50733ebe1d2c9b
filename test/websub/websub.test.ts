/** Hubs are named by feeds and told of changes; one that misbehaves costs nothing (contract §15). */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import { HttpServer, type ServerOptions } from '../../src/http/server.ts';
import { feedHash } from '../../src/telemetry/fields.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { freePort } from '../support/free-port.ts';
import { ask, start, tempDir } from '../support/service.ts';
import { serve, TestHub, TestSubscriber } from '../support/websub-hub.ts';

t.setTimeout(600_000);

const SECRET = 'a secret of tests that is long enough';

/** Settings with hubs, a free port, and the `PUBLIC_URL` under which the hubs of the test reach the instance. */
async function settings(hubs: readonly string[]): Promise<Record<string, string>> {
  const port = String(await freePort());
  return {
    PORT: port,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SERVICE_WEBSUB_HUBS: hubs.join(),
    SERVICE_SECRET: SECRET,
    SERVICE_METRICS: '1',
  };
}

t.test('whoever subscribes gets the feed after each change, and at most once in 10 s', async (t) => {
  const hub = await TestHub.start(t);
  const service = await start(t, await settings([hub.url]));
  const feed = new FeedClient(service.url, 'heron');
  const { read_url: rss } = (await feed.post('# First')).json;
  const readId = readIdIn(rss);
  const page = `${service.url}/r/${readId}`;
  const json = `${page}/feed.json`;
  const subscribers: TestSubscriber[] = [];
  for (const [address, topic] of [
    [rss, rss],
    [json, json],
    [page, rss],
  ]) {
    const subscriber = await TestSubscriber.start(t, address);
    subscribers.push(subscriber);
    t.strictSame(subscriber.links, { hub: hub.url, self: topic }, address);
    t.ok(await eventually(() => subscriber.isVerified));
  }
  const hear = async (text: string, change: () => Promise<unknown>) => {
    await change();
    for (const { received } of subscribers)
      t.ok(await eventually(() => received.at(-1)?.includes(text) ?? false), text);
  };
  // The first note has just been announced.
  await hear('Second', () => feed.post('# Second'));
  await hear('Third', async () => {
    for (const text of ['# One', '# Two', '# Third']) await feed.post(text);
  });
  await hear('A title', () => feed.set({ title: 'A title' }));
  for (const topic of [rss, json]) {
    const times = hub.timesOf(topic);
    t.ok(times.length >= 3);
    for (const [n, time] of times.slice(1).entries()) t.ok(time - times[n]! > 8_000, 'not at once');
  }
  t.strictSame([...new Set(hub.told.map(({ topic }) => topic))].sort(), [json, rss]);
  const { text } = await ask(`${service.url}/metrics`);
  t.match(text, /service_websub_announcements_total\{outcome="accepted"\} [1-9]/);
  t.match(text, /service_websub_announcements_total\{outcome="failed"\} 0/);
});

t.test(
  'neither hubs nor a CDN hear of a feed whose read link cannot be read',
  { skip: (process.env.SERVICE_STORAGE ?? 'fs') !== 'fs' },
  async (t) => {
    const tags: string[] = [];
    const cdn = await serve(t, (_, response, body) => {
      tags.push(...JSON.parse(body).tags);
      response.end();
    });
    const hub = await TestHub.start(t);
    const dir = await tempDir(t);
    mkdirSync(join(dir, 'heron'));
    writeFileSync(join(dir, 'heron', '.readid'), 'no read id');
    const env = { ...(await settings([hub.url])), SERVICE_PURGE_URL: cdn };
    const service = await start(t, env, dir);
    t.equal((await new FeedClient(service.url, 'heron').post()).status, 201);
    const readId = readIdIn((await new FeedClient(service.url, 'egret').post()).json.read_url);
    t.ok(await eventually(() => hub.told.some(({ topic }) => topic.endsWith(`${readId}/feed.json`))));
    t.ok(await eventually(() => tags.includes(`feed-${readId}`)));
    await service.stop();
    t.strictSame([...new Set(tags)], [`feed-${readId}`]);
    t.ok(hub.told.every(({ topic }) => topic.includes(readId)));
  },
);

t.test('hubs and a CDN hear of what is posted as soon as the port is open', async (t) => {
  const tags: string[] = [];
  const cdn = await serve(t, (_, response, body) => {
    tags.push(...JSON.parse(body).tags);
    response.end();
  });
  const hub = await TestHub.start(t);
  const env: Record<string, string> = { ...(await settings([hub.url])), SERVICE_PURGE_URL: cdn };
  let readId = '';
  const { listen } = HttpServer;
  t.intercept(HttpServer, 'listen', {
    value: async (options: ServerOptions) => {
      const opened = await listen(options);
      readId = readIdIn((await new FeedClient(env.PUBLIC_URL!, 'heron').post()).json.read_url);
      return opened;
    },
  });
  await start(t, env);
  // Another feed is told of after those that changed before it.
  const other = readIdIn((await new FeedClient(env.PUBLIC_URL!, 'egret').post()).json.read_url);
  t.ok(await eventually(() => hub.told.some(({ topic }) => topic.includes(other))));
  t.ok(hub.told.some(({ topic }) => topic.includes(readId)));
  t.ok(await eventually(() => tags.includes(`feed-${other}`)));
  t.ok(tags.includes(`feed-${readId}`));
});

t.test('feeds name hubs, and parts of them do not', async (t) => {
  const hubs = ['https://one.example/hub', 'https://two.example/a&b'];
  const env = await settings(hubs);
  const service = await start(t, env);
  const plain = await start(t);
  const fields = async (url: string) => {
    const { headers, text } = await ask(url);
    return { link: headers.get('link'), cache: headers.get('cache-control'), text };
  };
  for (const readId of ['gannet-link', 'nobody-has-this']) {
    const topic = `${env.PUBLIC_URL}/r/${readId}/feed`;
    for (const one of [service, plain])
      await new FeedClient(one.url, 'gannet').post('x', { 'x-read-id': 'gannet-link', 'x-note-tags': 'a' });
    const link = `<${hubs[0]}>; rel="hub", <${hubs[1]}>; rel="hub", <${topic}`;
    const rss = await fields(`${service.url}/r/${readId}/feed.xml`);
    t.equal(rss.link, `${link}.xml>; rel="self"`);
    t.equal(rss.cache, 'public, max-age=0, must-revalidate', 'or the hub gets an older one from a cache');
    t.match(rss.text, '<atom:link href="https://one.example/hub" rel="hub"/>');
    t.match(rss.text, '<atom:link href="https://two.example/a&amp;b" rel="hub"/>');
    const json = await fields(`${service.url}/r/${readId}/feed.json`);
    t.equal(json.link, `${link}.json>; rel="self"`);
    t.strictSame(
      JSON.parse(json.text).hubs,
      hubs.map((url) => ({ type: 'WebSub', url })),
    );
    t.equal((await fields(`${service.url}/r/${readId}`)).link, `${link}.xml>; rel="self"`);
    for (const path of ['feed.xml?tag=a', 'feed.json?q=x', 'feed.xml?from=2026-01-01', '?tag=a']) {
      const part = await fields(`${service.url}/r/${readId}/${path}`);
      t.equal(part.link, null, path);
      t.notMatch(part.text, 'one.example', path);
    }
    for (const path of ['feed.xml', 'feed.json', '']) {
      const without = await fields(`${plain.url}/r/${readId}/${path}`);
      t.equal(without.link, null);
      t.equal(without.cache, 'public, max-age=60, stale-while-revalidate=30, stale-if-error=300');
      t.notMatch(without.text, /rel="hub"|"hubs"/);
    }
  }
  t.equal((await fields(`${service.url}/gannet`)).link, null, 'not the page that is a key');
});

t.test('hubs that misbehave cost nothing', async (t) => {
  const asked = { hanging: 0, givenUp: 0, redirecting: 0, private: 0, failing: 0, endless: 0 };
  const isPrivate = await serve(t, (_, response) => {
    asked.private += 1;
    response.end();
  });
  let isCut = false;
  const hub = await TestHub.start(t);
  const hubs = [
    hub.url,
    await serve(t, (_, response) => {
      asked.hanging += 1;
      response.on('close', () => {
        asked.givenUp += 1;
      });
    }),
    await serve(t, (_, response) => {
      asked.redirecting += 1;
      response.writeHead(asked.redirecting % 2 === 0 ? 307 : 302, { location: isPrivate }).end();
    }),
    // Fails twice, because the first failure ends the first attempt.
    await serve(t, (_, response) => {
      asked.failing += 1;
      response.writeHead(asked.failing === 1 ? 500 : 204).end();
    }),
    await serve(t, (_, response) => {
      asked.endless += 1;
      response.on('close', () => {
        isCut = true;
      });
      const write = () => {
        while (!response.destroyed && response.write('x'.repeat(1024)));
        response.once('drain', write);
      };
      write();
    }),
  ];
  const service = await start(t, await settings(hubs));
  const feed = new FeedClient(service.url, 'a-very-secret-feed');
  const begunAt = performance.now();
  const rss = (await feed.post('x')).json.read_url;
  t.equal(asked.givenUp, 0, 'no post waits');
  t.ok(await eventually(() => hub.timesOf(rss).length === 1 && isCut), 'the good one is told');
  for (let n = 0; n < 20; n += 1) await new FeedClient(service.url, `feed-${n}`).post('x');
  t.ok(await eventually(() => asked.hanging - asked.givenUp === 4), 'so many at a time');
  t.ok(await eventually(() => asked.failing === 43), 'both topics of all feeds, the first one again');
  t.ok(performance.now() - begunAt > 10_000, 'after a pause');
  t.equal(asked.private, 0);
  t.ok(asked.redirecting >= 21);
  await service.stop();
  const lines = service.lines.filter(({ message }) => message.includes('WebSub'));
  const HASH = feedHash(Buffer.from(SECRET))('a-very-secret-feed' as FeedName);
  const failed = lines.filter(({ fields }) => fields.hub === new URL(hubs[3]!).host);
  t.match(failed, [{ level: 'warn', fields: { feed: HASH, err: { message: 'the hub answered 500' } } }]);
  t.match(
    lines.map(({ fields }) => fields.hub).sort(),
    [1, 2, 3].map((n) => new URL(hubs[n]!).host).sort(),
    'one line for each',
  );
  t.notMatch(JSON.stringify(service.lines), /a-very-secret-feed|feed-1\b/);
});

t.test('nothing is told of a feed that is deleted or blocked', async (t) => {
  const hub = await TestHub.start(t);
  const token = 'a token of the operator, long enough';
  const service = await start(t, { ...(await settings([hub.url])), SERVICE_OPERATOR_TOKEN: token });
  const feeds = ['rail', 'spoonbill', 'crake'].map((name) => new FeedClient(service.url, name));
  const [deleted, , other] = feeds as [FeedClient, FeedClient, FeedClient];
  const topics: string[] = [];
  for (const feed of feeds) topics.push((await feed.post('x')).json.read_url);
  const told = () => topics.map((topic) => hub.timesOf(topic).length);
  t.ok(await eventually(() => told().every((times) => times > 0)));
  // The next announcement is 10 s away, so a slow deletion comes before it, too.
  const before = told();
  for (const feed of feeds) await feed.post('y');
  await deleted.delete();
  await ask(`${service.url}/api/operator/blocks/spoonbill`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}` },
  });
  t.ok(await eventually(() => told()[2]! > before[2]!));
  t.strictSame(told().slice(0, 2), before.slice(0, 2));
  await deleted.post('x');
  const kept = told()[2]!;
  await other.post('z');
  await service.stop();
  t.equal(told()[2], kept + 1, 'a stop tells what waits');
});
